//! `EVENT_MISSING`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EVENT_MISSING",
    severity: Severity::Error,
    why: "Without an event the harness cannot tell when the hook should run, so the hook blocks \
          every gating event until it has one.",
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
