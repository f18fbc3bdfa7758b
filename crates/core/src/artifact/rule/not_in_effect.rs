//! `NOT_IN_EFFECT`.

use super::READ_NOTE;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "NOT_IN_EFFECT",
    severity: Severity::Note,
    why: "The harness reads and checks it, and nothing uses it yet: the part that will is not in \
          this version. It restricts nothing, so calls are not refused because of it.",
    bad: &[
        READ_NOTE,
        ("harness.md", "---\nmodel: some-model\n---\nBe brief.\n"),
    ],
    good: &[
        READ_NOTE,
        ("harness.md", "---\nformat: 1\n---\nBe brief.\n"),
    ],
    check: (),
};
