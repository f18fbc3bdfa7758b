//! `FILE_PASSED_OVER`.

use super::READ_NOTE;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FILE_PASSED_OVER",
    severity: Severity::Warning,
    why: "Artifacts are `.md` files directly in their folder. A guard in a subfolder, or in a \
          folder with another name, guards nothing.",
    bad: &[(".harness/tools/notes/read_note.md", READ_NOTE.1)],
    good: &[READ_NOTE],
    check: (),
};
