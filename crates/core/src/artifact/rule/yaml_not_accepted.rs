//! `YAML_NOT_ACCEPTED`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "YAML_NOT_ACCEPTED",
    severity: Severity::Error,
    why: "Anchors, aliases, tags, several documents, keys that are not text and infinite numbers \
          let a file mean something other than it seems to.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
tags: &all [notes]
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
tags: [notes]
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
