//! `TOOL_SURFACE_UNREACHABLE`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Standing, Subject};
use std::collections::HashSet;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNREACHABLE",
    severity: Severity::Note,
    why: "The project declares a tool that its own policy never offers. Somebody maintains it for nothing, or believes that it is there.",
    bad: &[
        (
            ".harness/tools/read_note.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
        ),
        (
            ".harness/tools/list_notes.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nLists the notes.\n",
        ),
        (
            "harness.md",
            "---\ntools_policy: {deny: [read_note]}\n---\nYou help.\n",
        ),
    ],
    good: &[
        (
            ".harness/tools/read_note.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
        ),
        (
            ".harness/tools/list_notes.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nLists the notes.\n",
        ),
        ("harness.md", "---\nformat: 1\n---\nYou help.\n"),
    ],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    // Where nothing is offered, that is what was reported.
    if subject
        .surface
        .tools
        .iter()
        .all(|entry| matches!(entry.standing, Standing::Denied(_)))
    {
        return;
    }
    // What a text names was reported there.
    let said: HashSet<&str> = subject
        .mentions
        .inactive
        .iter()
        .filter_map(|said| Some(&*said.tool?.name))
        .collect();
    for entry in subject
        .surface
        .tools
        .iter()
        .filter(|entry| !said.contains(&*entry.name))
    {
        // A surface given as JSON is one of several; what it leaves out another may have.
        let (Some(_), Standing::Denied(why)) = (entry.timeout_ms, &entry.standing) else {
            continue;
        };
        findings.add(
            RULE.finding(format!("tool \"{}\" is offered nowhere: {why}", entry.name))
                .at_any(entry.place.clone())
                .tool(&*entry.name)
                .help(
                    "change the policy, or set the file aside with an underscore before its name",
                ),
        );
    }
}
