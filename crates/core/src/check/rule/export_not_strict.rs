//! `EXPORT_NOT_STRICT`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_NOT_STRICT",
    severity: Severity::Warning,
    why: "In strict mode a provider makes a model keep to the schema, and accepts only a part of \
          JSON Schema. A tool with `strict: true` that does not fit is written without it: the \
          harness still refuses invalid arguments and tells the model why.",
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
