//! `SCHEMA_INVALID`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "SCHEMA_INVALID",
    severity: Severity::Error,
    why: "Arguments are checked against the schema before a call, and some providers refuse every \
          request that carries a broken one.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\ninput_schema:\n  type: object\n  properties:\n    name: {type: strng}\n  required: [name]\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\ninput_schema:\n  type: object\n  properties:\n    name: {type: string}\n  required: [name]\nscript: |\n  def run(args):\n      return fs.read(args[\"name\"])\n---\nReads one note.\n",
    )],
    check: (),
};
