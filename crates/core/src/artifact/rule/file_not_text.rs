//! `FILE_NOT_TEXT`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FILE_NOT_TEXT",
    severity: Severity::Error,
    why: "An artifact is text in UTF-8; anything else was probably put there by mistake.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\n\0\n---\nRead the note of the day.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        r#"---
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
