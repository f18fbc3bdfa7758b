//! `YAML_INVALID`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "YAML_INVALID",
    severity: Severity::Error,
    why: "Frontmatter that is not YAML gives no fields at all, so the artifact cannot be used.",
    bad: &[(
        ".harness/tools/read_note.md",
        r#"---
parameters: { path: { type: string }
script: |
  def run(args):
      return "a note"
---
Read a note.
"#,
    )],
    good: &[(
        ".harness/tools/read_note.md",
        r#"---
parameters: { path: { type: string } }
script: |
  def run(args):
      return "a note"
---
Read a note.
"#,
    )],
    check: (),
};
