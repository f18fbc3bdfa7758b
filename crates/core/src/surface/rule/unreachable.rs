//! `TOOL_SURFACE_UNREACHABLE`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::diagnostic::{Rule, Severity};
use crate::surface::judge::tool_names;
use crate::surface::{Findings, Subject, ToolStatus};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNREACHABLE",
    severity: Severity::Note,
    why: "The project declares a tool that its own policy never offers. Its authors maintain it \
          for nothing, or believe that models can use it.",
    bad: &[
        READ_NOTE,
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
        READ_NOTE,
        (
            ".harness/tools/list_notes.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nLists the notes.\n",
        ),
        ("harness.md", "---\nformat: 1\n---\nYou help.\n"),
    ],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    // If no tool is offered, another rule reports it.
    if subject
        .surface
        .tools
        .iter()
        .all(|entry| matches!(entry.status, ToolStatus::Denied(_)))
    {
        return;
    }
    // What a text names was reported there.
    let said = tool_names(&subject.mentions.inactive);
    for entry in subject
        .surface
        .tools
        .iter()
        .filter(|entry| !said.contains(&*entry.name))
    {
        // A surface given as JSON is one of several; what it leaves out another may have.
        let (Some(_), ToolStatus::Denied(why)) = (entry.timeout_ms, &entry.status) else {
            continue;
        };
        let message = format!("tool \"{}\" is never offered: {why}", entry.name);
        findings.add(
            entry.finding(&RULE, message).help(
                "change the policy, or set the file aside with an underscore before its name",
            ),
        );
    }
}
