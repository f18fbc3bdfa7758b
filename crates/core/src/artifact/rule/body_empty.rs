//! `BODY_EMPTY`.

use super::READ_NOTE;
use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "BODY_EMPTY",
    severity: Severity::Warning,
    why: "Besides the arguments, the description is all a model knows about a tool. Without one \
          it sees only the name.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\n",
    )],
    good: &[READ_NOTE],
    check: (),
};
