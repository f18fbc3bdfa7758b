//! The checks on whole projects: clashes, overrides, broken hooks, effects, order and cost.

mod clashes;
mod findings;

use tool_harness::artifact::{Artifacts, read};
use tool_harness::builtin::MODULES;
use tool_harness::check::{CheckedProject, check, scripts};
use tool_harness::facts::FactsBySource;
use tool_harness_script::check::facts;

fn project(files: &[(&str, &str)]) -> Artifacts {
    read(
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())),
    )
}

fn facts_of(artifacts: &Artifacts) -> FactsBySource {
    scripts(artifacts)
        .into_iter()
        .map(|(kind, text)| ((kind, text.clone()), Ok(facts(kind, &text, MODULES))))
        .collect()
}

fn judge(files: &[(&str, &str)]) -> CheckedProject {
    let artifacts = project(files);
    let facts = facts_of(&artifacts);
    check(artifacts, &facts)
}

/// `CODE path:line:column` of every finding.
fn found(checked: &CheckedProject) -> Vec<String> {
    let place = |found: &tool_harness::diagnostic::Diagnostic| {
        found
            .place
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    checked
        .diagnostics
        .iter()
        .map(|one| format!("{} {}", one.code, place(one)))
        .collect()
}

fn expect(files: &[(&str, &str)], expected: &[&str]) -> CheckedProject {
    let checked = judge(files);
    assert_eq!(
        found(&checked),
        expected,
        "{files:#?}\n{:#?}",
        checked.diagnostics
    );
    checked
}

const READ_NOTE: &str =
    "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n";

const WATCH: &str = "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n";

fn tool(frontmatter: &str, script: &str) -> String {
    format!("---\n{frontmatter}script: |\n  def run(args):\n      return {script}\n---\nDoes it.\n")
}
