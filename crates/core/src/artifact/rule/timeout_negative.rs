//! `TIMEOUT_NEGATIVE`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "TIMEOUT_NEGATIVE",
    severity: Severity::Error,
    why: "A negative limit has no meaning; 0 means that only the call's own limit counts.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
timeout_ms: -1
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    good: &[(
        ".harness/tools/read_note.md",
        r#"---
timeout_ms: 0
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
