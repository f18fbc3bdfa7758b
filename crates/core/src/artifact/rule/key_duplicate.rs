//! `KEY_DUPLICATE`.

use super::NOTE_WITH_TIMEOUT;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "KEY_DUPLICATE",
    severity: Severity::Error,
    why: "Only one of two equal keys can count, and parsers disagree about which.",
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
    good: &[NOTE_WITH_TIMEOUT],
    check: (),
};
