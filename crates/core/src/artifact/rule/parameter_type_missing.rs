//! `PARAMETER_TYPE_MISSING`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "PARAMETER_TYPE_MISSING",
    severity: Severity::Error,
    why: "Some providers refuse a schema without types, and an argument without a type cannot be \
          checked.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
parameters:
  day: { description: The day to look up. }
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
  day: { type: string, description: The day to look up. }
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
