//! `FORMAT_UNKNOWN`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FORMAT_UNKNOWN",
    severity: Severity::Error,
    why: "An older harness must not guess what a newer format restricts.",
    bad: &[(
        "harness.md",
        r#"---
format: 2
---
You keep notes.
"#,
    )],
    good: &[(
        "harness.md",
        r#"---
format: 1
---
You keep notes.
"#,
    )],
    check: (),
};
