//! `NAME_KEY_IN_FILE`.

use super::NOTE_OF_THE_DAY;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "NAME_KEY_IN_FILE",
    severity: Severity::Warning,
    why: "An artifact in a file of its own takes its name from the file and its description from \
          the text below the frontmatter, so these keys change nothing.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
name: fetch_note
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    good: &[NOTE_OF_THE_DAY],
    check: (),
};
