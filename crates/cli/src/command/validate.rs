//! `harness validate`.

use crate::exit::Exit;
use crate::open::Folder;
use crate::output::{self, Output};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::time::Instant;
use tool_harness::diagnostic::{Diagnostic, Severity};

#[derive(Args)]
pub(crate) struct Validate {
    /// How the report is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Warnings make the report not valid, too
    #[arg(long)]
    deny_warnings: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The source with the place marked
    Text,
    /// One JSON document
    Json,
}

impl Validate {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let started = Instant::now();
        let engine = folder.load().await?;
        let findings = engine.diagnostics();
        let denied = if self.deny_warnings { Severity::Warning } else { Severity::Error };
        let valid = findings.iter().all(|finding| finding.severity < denied);
        if self.json || self.format == Format::Json {
            output.json(&report(valid, findings))?;
        } else {
            for finding in findings {
                output.print(&output::diagnostic(finding))?;
                output.print("")?;
            }
            let registry = engine.registry();
            let tools = registry.tools().count() + registry.broken_tools().len();
            let hooks = registry.hooks().count() + registry.broken_hooks().len();
            let verdict = if valid { output::paint(output::look::GOOD, "valid") } else { output::paint(output::look::BAD, "not valid") };
            let counted = format!("{}, {}", output::count(tools, "tool"), output::count(hooks, "hook"));
            output.print(&format!("{verdict}: {counted}, {}", output::summary(findings, started.elapsed())))?;
            if let Some(first) = findings.first() {
                output.print(&output::paint(output::look::QUIET, &format!("`harness explain {}` says more about a code", first.code)))?;
            }
        }
        Ok(if valid { Exit::Done } else { Exit::Failed })
    }
}

fn report(valid: bool, findings: &[Diagnostic]) -> Value {
    json!({"valid": valid, "diagnostics": findings.iter().map(Diagnostic::to_json).collect::<Vec<_>>()})
}
