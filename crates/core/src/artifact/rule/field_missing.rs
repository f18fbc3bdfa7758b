//! `FIELD_MISSING`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FIELD_MISSING",
    severity: Severity::Error,
    why: "The entry has no meaning without this field.",
    bad: &[(
        ".harness/hooks/guard_notes.md",
        r#"---
event: tool.pre
script: |
  def handle(event, payload):
      return allow()
examples:
  - payload: { name: read_note }
---
Looks at every call.
"#,
    )],
    good: &[(
        ".harness/hooks/guard_notes.md",
        r#"---
event: tool.pre
script: |
  def handle(event, payload):
      return allow()
examples:
  - payload: { name: read_note }
    decision: allow
---
Looks at every call.
"#,
    )],
    check: (),
};
