//! `YAML_LIMIT`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "YAML_LIMIT",
    severity: Severity::Error,
    why: "Frontmatter is bounded in size, depth and number of values, so that no file can slow \
          down or exhaust the harness.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
annotations: { kind: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]] }
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
annotations: { kind: read }
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
    )],
    check: (),
};
