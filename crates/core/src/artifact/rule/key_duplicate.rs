//! `KEY_DUPLICATE`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "KEY_DUPLICATE",
    severity: Severity::Error,
    why: "Of two equal keys only one can count, and readers disagree which.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
timeout_ms: 1000
timeout_ms: 2000
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
timeout_ms: 1000
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
