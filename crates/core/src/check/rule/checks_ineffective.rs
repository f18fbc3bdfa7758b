//! `CHECKS_INEFFECTIVE`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "CHECKS_INEFFECTIVE",
    severity: Severity::Warning,
    why: "A finding should be silenced only by someone who knows why, and only while there is \
          something to silence. An entry needs a known code and a reason, and must silence \
          something; errors that take an artifact out of use cannot be silenced.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nchecks:\n  - code: NAME_STYLE\n    reason: the name is older than the rule\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[(
        ".harness/tools/readNote.md",
        "---\nchecks:\n  - code: NAME_STYLE\n    reason: the name is older than the rule\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: (),
};
