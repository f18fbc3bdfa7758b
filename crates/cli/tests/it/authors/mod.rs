//! What authors do, and what they are told. Each mistake has its message as a snapshot, as the
//! report shows it; somebody who sees only that must be able to say what to type. Each kind of
//! mistake has harmless twins.

mod files;
mod scripts;

use crate::support::Project;
use crate::support::program::harness;

/// Compares what `harness validate` says about a project with the snapshot of that name.
fn told(name: &str, files: &[(&str, &str)]) {
    let project = Project::new(files);
    let report = harness(project.path(), &["validate"]).out;
    // The time it took is the only part that differs from run to run.
    let report: String = report
        .lines()
        .map(|line| match line.rsplit_once(" in ") {
            Some((before, time)) if time.ends_with(" ms") => format!("{before}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!(name, report);
    });
}

/// Fails if anything is found in a project.
fn untold(files: &[(&str, &str)]) {
    let project = Project::new(files);
    let report = harness(project.path(), &["validate", "--json"]).document();
    assert_eq!(report["diagnostics"], serde_json::json!([]), "{files:#?}");
}

/// A tool with this frontmatter, and these lines as the body of `run`.
fn tool(frontmatter: &str, body: &str) -> String {
    let body: String = body.lines().map(|line| format!("      {line}\n")).collect();
    format!("---\n{frontmatter}script: |\n  def run(args):\n{body}---\nRead the note.\n")
}

const TOOL: &str = ".harness/tools/read_note.md";
