//! The report of a check, for people, programs, code scanning and pull requests.

mod github;
mod sarif;

use super::{Output, diagnostic, paint, style, summary};
use crate::exit::Exit;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::span::Place;

/// The options of a report.
#[derive(Args)]
pub(crate) struct ReportArgs {
    /// The format of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Fail on warnings, too
    #[arg(long)]
    deny_warnings: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// Text for people, with source excerpts
    Text,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations for GitHub workflows
    Github,
}

/// What a check found.
pub(crate) struct CheckReport<'a> {
    /// The findings.
    pub(crate) findings: &'a [Diagnostic],
    /// What was checked, such as `3 tools, 2 hooks`.
    pub(crate) counted: String,
    /// When the check began.
    pub(crate) started: Instant,
    /// The prefix of paths that are relative to the project, for readers in another folder.
    pub(crate) prefix: String,
}

impl ReportArgs {
    /// Writes the report; returns the exit code.
    pub(crate) fn write(
        &self,
        report: &CheckReport<'_>,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let findings = report.findings;
        let denied = if self.deny_warnings {
            Severity::Warning
        } else {
            Severity::Error
        };
        let valid = findings.iter().all(|finding| finding.severity < denied);
        match if self.json {
            ReportFormat::Json
        } else {
            self.format
        } {
            ReportFormat::Json => output.json(&document(valid, findings))?,
            ReportFormat::Sarif => output.json(&sarif::document(findings, &report.prefix))?,
            ReportFormat::Github => {
                findings.iter().try_for_each(|finding| {
                    output.raw(&github::annotation(finding, &report.prefix))
                })?;
                output.say(&verdict(valid, report))?;
            }
            ReportFormat::Text => text(valid, report, output)?,
        }
        Ok(if valid { Exit::Done } else { Exit::Failed })
    }
}

fn document(valid: bool, findings: &[Diagnostic]) -> Value {
    json!({"valid": valid, "diagnostics": findings.iter().map(Diagnostic::to_json).collect::<Vec<_>>()})
}

fn text(valid: bool, report: &CheckReport<'_>, output: &mut Output) -> anyhow::Result<()> {
    for finding in report.findings {
        output.print(&diagnostic(finding))?;
        output.print("")?;
    }
    output.print(&verdict(valid, report))?;
    // The first of the worst: `max_by_key` would take the last.
    let worst = report
        .findings
        .iter()
        .rev()
        .max_by_key(|finding| finding.severity);
    if let Some(worst) = worst {
        output.print(&paint(
            style::QUIET,
            &format!("`harness explain {}` says more about this code", worst.code),
        ))?;
    }
    Ok(())
}

/// The last line: whether the input is valid, what was checked and found, how long it took.
fn verdict(valid: bool, report: &CheckReport<'_>) -> String {
    let verdict = if valid {
        paint(style::GOOD, "valid")
    } else {
        paint(style::BAD, "not valid")
    };
    format!(
        "{verdict}: {}, {}",
        report.counted,
        summary(report.findings, report.started.elapsed())
    )
}

/// The prefix of paths in the project, for a reader in the current folder.
pub(crate) fn prefix(folder: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| folder.strip_prefix(here).ok().map(Path::to_path_buf));
    match below.as_deref().and_then(Path::to_str) {
        None | Some("") => String::new(),
        Some(path) => format!("{}/", path.trim_end_matches('/')),
    }
}

/// A file for programs that open it, and the name of a text inside it that has lines of its own.
struct FileLocation<'a> {
    file: String,
    within: Option<&'a str>,
}

impl<'a> FileLocation<'a> {
    fn of(place: &'a Place, prefix: &str) -> Self {
        let path: &str = &place.source.path;
        let (file, within) = path
            .split_once('#')
            .map_or((path, None), |(file, within)| (file, Some(within)));
        let file = if Path::new(file).is_absolute() {
            file.to_owned()
        } else {
            format!("{prefix}{file}")
        };
        Self { file, within }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_project_in_a_subfolder_start_with_that_folder() {
        let here = std::env::current_dir().expect("a folder");
        assert_eq!(prefix(&here), "");
        assert_eq!(prefix(&here.join("a/b")), "a/b/");
        assert_eq!(prefix(Path::new("/elsewhere")), "");
    }
}
