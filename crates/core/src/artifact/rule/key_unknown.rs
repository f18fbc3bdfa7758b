//! `KEY_UNKNOWN`.

use super::NOTE_WITH_TIMEOUT;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "KEY_UNKNOWN",
    severity: Severity::Warning,
    why: "A misspelled field has no effect. In hooks, bundles and the root file it is an error: a \
          typo in a guard must not open a door.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
timeout: 1000
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
