//! `FRONTMATTER_MISSING`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FRONTMATTER_MISSING",
    severity: Severity::Error,
    why: "A file that does not start with a `---` line has no fields: no schema, no script, no \
          event.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"# read_note

Read the note of the day.
"#,
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
