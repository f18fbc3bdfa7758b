//! `EXPORT_NOT_STRICT`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_NOT_STRICT",
    severity: Severity::Warning,
    why: "With strict mode a provider makes a model keep to the schema, and takes a part of JSON Schema only. A tool with `strict: true` that does not fit is written without it: harness still refuses arguments that do not fit, and the model is told why.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nstrict: true\nparameters:\n  path: {type: string, required: true, minLength: 1}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nstrict: true\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: (),
};
