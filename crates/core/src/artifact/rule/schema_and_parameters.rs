//! `SCHEMA_AND_PARAMETERS`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "SCHEMA_AND_PARAMETERS",
    severity: Severity::Error,
    why: "`input_schema` is the full form of `parameters`; with both, one would silently lose.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
parameters:
  day: { type: string }
input_schema:
  type: object
  properties: { day: { type: string } }
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
input_schema:
  type: object
  properties: { day: { type: string } }
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
