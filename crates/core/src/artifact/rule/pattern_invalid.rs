//! `PATTERN_INVALID`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "PATTERN_INVALID",
    severity: Severity::Error,
    why: "A pattern that is no glob matches nothing anybody meant. Where it would allow something it allows nothing, and where it would deny \
          something it denies everything; so it is said before a call meets it.",
    bad: &[(
        "harness.md",
        "---\ntools_policy: {deny: [\"drop_{note,page\"]}\n---\nYou keep notes.\n",
    )],
    good: &[(
        "harness.md",
        "---\ntools_policy: {deny: [\"exec.{run,start}\"]}\n---\nYou keep notes.\n",
    )],
    check: (),
};
