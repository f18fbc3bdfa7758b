//! `INLINE_NAME_EMPTY`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "INLINE_NAME_EMPTY",
    severity: Severity::Error,
    why: "A tool or hook inside another file has no file name to take its name from.",
    bad: &[(
        "harness.md",
        r#"---
tools:
  - name: ""
    description: Read the note of the day.
    script: |
      def run(args):
          return "a note"
---
You keep notes.
"#,
    )],
    good: &[(
        "harness.md",
        r#"---
tools:
  - name: read_note
    description: Read the note of the day.
    script: |
      def run(args):
          return "a note"
---
You keep notes.
"#,
    )],
    check: (),
};
