//! `EXPORT_KEYWORD`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_KEYWORD",
    severity: Severity::Warning,
    why: "A provider refuses a request with a keyword it does not know, so the harness leaves the \
          keyword out and the model is told less. Calls are not affected: the harness checks the \
          arguments against the whole schema.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {type: string, required: true}\n  lines: {type: integer, multipleOf: 10}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {type: string, required: true}\n  lines: {type: integer, minimum: 10, description: A multiple of 10}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: (),
};
