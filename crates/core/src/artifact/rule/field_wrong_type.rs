//! `FIELD_WRONG_TYPE`.

use super::NOTE_WITH_TIMEOUT;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FIELD_WRONG_TYPE",
    severity: Severity::Error,
    why: "The harness would have to ignore or guess a value that the field cannot have.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
timeout_ms: soon
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    good: &[NOTE_WITH_TIMEOUT],
    check: (),
};
