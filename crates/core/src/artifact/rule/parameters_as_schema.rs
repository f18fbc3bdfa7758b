//! `PARAMETERS_AS_SCHEMA`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "PARAMETERS_AS_SCHEMA",
    severity: Severity::Error,
    why: "`parameters` maps the name of each argument to its type. A whole JSON Schema, as other \
          systems write it there, is `input_schema` here.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  type: object\n  properties:\n    path: {type: string, description: The note}\n  required: [path]\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\ninput_schema:\n  type: object\n  properties:\n    path: {type: string, description: The note}\n  required: [path]\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: (),
};
