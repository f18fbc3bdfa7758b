//! `TOOL_SURFACE_MISSING_EXECUTOR`.

use super::subject::{Findings, ToolSubject, tool_place};
use super::{Check, Rule};
use crate::diagnostic::Severity;

pub(super) const RULE: Rule = Rule {
    code: "TOOL_SURFACE_MISSING_EXECUTOR",
    severity: Severity::Warning,
    why: "A tool without a script has nothing to run unless the program that embeds the harness registers a Rust body under its name. Fenced code \
          in the body is never run.",
    bad: &[(".harness/tools/read_note.md", "---\ntimeout_ms: 1000\n---\nReads the note.\n")],
    good: &[(
        ".harness/tools/read_note.md",
        "---\ntimeout_ms: 1000\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    if tool.script.is_none() {
        findings.add(
            RULE.finding(format!("tool \"{}\" has no script", tool.name))
                .at(tool_place(tool))
                .field("script")
                .help("add a `script` that defines `run(args)`, or register a Rust body under this name; until then a call is refused as `tool.no_body`"),
        );
    }
}
