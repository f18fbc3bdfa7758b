//! `FILE_PASSED_OVER`.

use crate::diagnostic::{Rule, Severity};

const SCRIPT: &str =
    "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n";

pub(crate) const RULE: Rule = Rule {
    code: "FILE_PASSED_OVER",
    severity: Severity::Warning,
    why: "Artifacts are `.md` files directly in their folder. A guard in a subfolder, or in a \
          folder with another name, guards nothing.",
    bad: &[(".harness/tools/notes/read_note.md", SCRIPT)],
    good: &[(".harness/tools/read_note.md", SCRIPT)],
    check: (),
};
