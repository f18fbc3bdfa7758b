//! `FILE_UNREADABLE`.

use super::NOTE_OF_THE_DAY;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FILE_UNREADABLE",
    severity: Severity::Error,
    why: "A file that cannot be read cannot be checked: its tool is not offered, and its hook \
          blocks.",
    bad: &[(
        ".harness/tools/read_note.md/notes.txt",
        r#"A folder stands where a tool should be.
"#,
    )],
    good: &[NOTE_OF_THE_DAY],
    check: (),
};
