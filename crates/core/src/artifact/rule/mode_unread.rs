//! `MODE_UNREAD`.

use crate::diagnostic::{Rule, Severity};

const TOOL: (&str, &str) = (
    ".harness/tools/read_note.md",
    "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
);

pub(crate) const RULE: Rule = Rule {
    code: "MODE_UNREAD",
    severity: Severity::Warning,
    why: "A mode restricts which tools may be used. The harness does not read modes yet, so it \
          refuses calls rather than allow every tool.",
    bad: &[
        TOOL,
        (
            ".harness/modes/plan.md",
            "---\ntools: [read_note]\n---\nOnly look.\n",
        ),
    ],
    good: &[TOOL],
    check: (),
};
