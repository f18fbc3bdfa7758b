//! `MODE_UNREAD`.

use super::READ_NOTE;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "MODE_UNREAD",
    severity: Severity::Warning,
    why: "A mode restricts which tools may be used. The harness does not read modes yet, so it \
          refuses calls rather than allow every tool.",
    bad: &[
        READ_NOTE,
        (
            ".harness/modes/plan.md",
            "---\ntools: [read_note]\n---\nOnly look.\n",
        ),
    ],
    good: &[READ_NOTE],
    check: (),
};
