//! `FRONTMATTER_UNCLOSED`.

use super::NOTE_OF_THE_DAY;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FRONTMATTER_UNCLOSED",
    severity: Severity::Error,
    why: "If the frontmatter never ends, fields cannot be told from prose.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
script: |
  def run(args):
      return "a note"
----
Read the note of the day.
"#,
    )],
    good: &[NOTE_OF_THE_DAY],
    check: (),
};
