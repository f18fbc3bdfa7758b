//! `BODY_EMPTY`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "BODY_EMPTY",
    severity: Severity::Warning,
    why: "The description is all a model knows about a tool besides its arguments. Without one it sees the bare name.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: (),
};
