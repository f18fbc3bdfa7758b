//! `FRONTMATTER_MISSING`.

use super::NOTE_OF_THE_DAY;
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
    good: &[NOTE_OF_THE_DAY],
    check: (),
};
