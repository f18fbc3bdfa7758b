//! `EXPORT_OUTPUT_SCHEMA`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_OUTPUT_SCHEMA",
    severity: Severity::Warning,
    why: "MCP clients of the revisions before 2026-07-28 refuse a whole listing if one output \
          schema is not the schema of an object. The harness leaves the schema out of the listing \
          and still checks the result.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\noutput_schema: {type: string}\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\noutput_schema: {type: object}\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return {\"text\": fs.read(args[\"path\"])}\n---\nReads one note.\n",
    )],
    check: (),
};
