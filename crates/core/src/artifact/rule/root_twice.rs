//! `ROOT_TWICE`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "ROOT_TWICE",
    severity: Severity::Error,
    why: "One of two root files would be ignored, perhaps together with a restriction.",
    bad: &[
        (
            "harness.md",
            r#"---
format: 1
---
You keep notes.
"#,
        ),
        (
            "harness.yaml",
            r#"format: 1
"#,
        ),
    ],
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
