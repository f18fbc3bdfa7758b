//! Reports: everything that a check found, for people, programs, code scanning and pull requests.

mod github;
mod sarif;

use super::{Output, diagnostic, look, paint, summary};
use crate::exit::Exit;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use tool_harness::diagnostic::{Diagnostic, Severity};
use tool_harness::span::Place;

/// How a report is written, and what makes it bad.
#[derive(Args)]
pub(crate) struct Reporting {
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
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub's workflows
    Github,
}

/// What was looked at.
pub(crate) struct Looked<'a> {
    /// Everything that was found.
    pub(crate) findings: &'a [Diagnostic],
    /// What there was, as `3 tools, 2 hooks`.
    pub(crate) counted: String,
    /// When it began.
    pub(crate) started: Instant,
    /// What stands before paths that are relative to the project, for readers who start elsewhere.
    pub(crate) prefix: String,
}

impl Reporting {
    /// Writes the report; it decides how the program ends.
    pub(crate) fn write(&self, looked: &Looked<'_>, output: &mut Output) -> anyhow::Result<Exit> {
        let findings = looked.findings;
        let denied = if self.deny_warnings {
            Severity::Warning
        } else {
            Severity::Error
        };
        let valid = findings.iter().all(|finding| finding.severity < denied);
        match if self.json { Format::Json } else { self.format } {
            Format::Json => output.json(&document(valid, findings))?,
            Format::Sarif => output.json(&sarif::document(findings, &looked.prefix))?,
            Format::Github => {
                findings.iter().try_for_each(|finding| {
                    output.raw(&github::annotation(finding, &looked.prefix))
                })?;
                output.say(&verdict(valid, looked))?;
            }
            Format::Text => text(valid, looked, output)?,
        }
        Ok(if valid { Exit::Done } else { Exit::Failed })
    }
}

fn document(valid: bool, findings: &[Diagnostic]) -> Value {
    json!({"valid": valid, "diagnostics": findings.iter().map(Diagnostic::to_json).collect::<Vec<_>>()})
}

fn text(valid: bool, looked: &Looked<'_>, output: &mut Output) -> anyhow::Result<()> {
    for finding in looked.findings {
        output.print(&diagnostic(finding))?;
        output.print("")?;
    }
    output.print(&verdict(valid, looked))?;
    if let Some(first) = looked.findings.first() {
        output.print(&paint(
            look::QUIET,
            &format!("`harness explain {}` says more about a code", first.code),
        ))?;
    }
    Ok(())
}

/// The line at the end: whether it is valid, how many of what, how long it took.
fn verdict(valid: bool, looked: &Looked<'_>) -> String {
    let verdict = if valid {
        paint(look::GOOD, "valid")
    } else {
        paint(look::BAD, "not valid")
    };
    format!(
        "{verdict}: {}, {}",
        looked.counted,
        summary(looked.findings, looked.started.elapsed())
    )
}

/// What stands before the paths of a project in `folder`, for a reader who starts where this program did.
pub(crate) fn prefix(folder: &Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| folder.strip_prefix(here).ok().map(Path::to_path_buf));
    match below.as_deref().and_then(Path::to_str) {
        None | Some("") => String::new(),
        Some(path) => format!("{}/", path.trim_end_matches('/')),
    }
}

/// A place for programs that look files up: the file, and which text of it when that has lines of its own.
struct Spot<'a> {
    file: String,
    within: Option<&'a str>,
}

impl<'a> Spot<'a> {
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
    fn a_project_below_has_its_folder_before_its_paths() {
        let here = std::env::current_dir().expect("a folder");
        assert_eq!(prefix(&here), "");
        assert_eq!(prefix(&here.join("a/b")), "a/b/");
        assert_eq!(prefix(Path::new("/elsewhere")), "");
    }
}
