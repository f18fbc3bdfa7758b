//! `PARAMETER_TYPE_UNKNOWN`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "PARAMETER_TYPE_UNKNOWN",
    severity: Severity::Error,
    why: "Only JSON Schema types mean something to the model and to the argument check.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
parameters:
  day: { type: text }
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
parameters:
  day: { type: string }
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
