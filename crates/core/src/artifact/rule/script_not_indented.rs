//! `SCRIPT_NOT_INDENTED`.

use super::READ_NOTE;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "SCRIPT_NOT_INDENTED",
    severity: Severity::Error,
    why: "The lines of a script belong to `script: |` only if they are indented. Otherwise YAML \
          reads them as fields, and the tool or hook has no script.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\ndef run(args):\n    return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: (),
};
