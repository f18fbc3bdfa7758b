//! `FILE_NOT_TEXT`.

use super::NOTE_OF_THE_DAY;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FILE_NOT_TEXT",
    severity: Severity::Error,
    why: "An artifact is text in UTF-8; anything else was probably put there by mistake.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\n\0\n---\nRead the note of the day.\n",
    )],
    good: &[NOTE_OF_THE_DAY],
    check: (),
};
