//! `TOOL_SURFACE_MISSING_EXECUTOR`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Executor, Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_MISSING_EXECUTOR",
    severity: Severity::Warning,
    why: "A tool without a script has nothing to run unless the embedding program registers a \
          Rust body under its name. Fenced code in the body is never run.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters: {}\nrisk: read\n---\nReads the note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters: {}\nrisk: read\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for entry in subject
        .active_tools()
        .filter(|entry| entry.executor == Executor::Missing)
    {
        let message = format!("tool \"{}\" has nothing that runs it", entry.name);
        let finding = entry.finding(&RULE, message).field("executor");
        findings.add(finding.help("in a project add a `script` that defines `run(args)`, or register a Rust body under this name; in a surface name its `executor`"));
    }
}
