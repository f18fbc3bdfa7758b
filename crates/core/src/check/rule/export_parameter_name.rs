//! `EXPORT_PARAMETER_NAME`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_PARAMETER_NAME",
    severity: Severity::Error,
    why: "Some providers restrict the names of arguments. The harness cannot rename an argument \
          without confusing the tool, so it leaves the whole tool out for that provider.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  dry-run: {type: boolean}\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  dry_run: {type: boolean}\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: (),
};
