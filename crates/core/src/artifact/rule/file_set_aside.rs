//! `FILE_SET_ASIDE`.

use crate::diagnostic::{Rule, Severity};

const SCRIPT: &str = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nGuards.\n";

pub(crate) const RULE: Rule = Rule {
    code: "FILE_SET_ASIDE",
    severity: Severity::Note,
    why: "An underscore before the name disables an artifact. That is a choice, and a reviewer of \
          the folder should see that this guard is not in force.",
    bad: &[(".harness/hooks/_guard_paths.md", SCRIPT)],
    good: &[(".harness/hooks/guard_paths.md", SCRIPT)],
    check: (),
};
