//! `CEILING_TWICE`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "CEILING_TWICE",
    severity: Severity::Error,
    why: "`effects` is the precise form of `side_effect_level`; with both, one would silently \
          lose.",
    bad: &[(
        "harness.md",
        r#"---
policy:
  side_effect_level: read_only
  effects: [read]
---
You keep notes.
"#,
    )],
    good: &[(
        "harness.md",
        r#"---
policy:
  effects: [read]
---
You keep notes.
"#,
    )],
    check: (),
};
