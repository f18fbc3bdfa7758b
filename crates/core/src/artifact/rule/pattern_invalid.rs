//! `PATTERN_INVALID`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "PATTERN_INVALID",
    severity: Severity::Error,
    why: "A pattern that is not a glob cannot mean what its author wanted. In a list that allows, \
          it allows nothing; in a list that denies, it denies everything.",
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
