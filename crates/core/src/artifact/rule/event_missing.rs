//! `EVENT_MISSING`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EVENT_MISSING",
    severity: Severity::Error,
    why: "A hook without an event never runs where its author meant it to, so it blocks every gating event until it has one.",
    bad: &[(
        ".harness/hooks/guard_notes.md",
        r#"---
script: |
  def handle(event, payload):
      return allow()
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
---
Looks at every call.
"#,
    )],
    check: (),
};
