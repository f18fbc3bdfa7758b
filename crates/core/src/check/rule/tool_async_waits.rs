//! `TOOL_ASYNC_WAITS`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "TOOL_ASYNC_WAITS",
    severity: Severity::Note,
    why: "Background tasks do not exist yet. A call of the tool runs and waits for its result, \
          like a call of any other tool.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nasync: true\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    if let Some(span) = subject.tool.background {
        findings.add(
            RULE.finding(
                "background tasks do not exist yet: a call of this tool waits for its result",
            )
            .at(subject.tool.place(span))
            .field("async")
            .help("nothing needs to change; `timeout_ms` limits how long a call may take"),
        );
    }
}
