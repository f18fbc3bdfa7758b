//! `EXPORT_NAME_TWICE`.

use super::{Check, Rule};
use crate::diagnostic::Severity;

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_NAME_TWICE",
    severity: Severity::Error,
    why: "Names have to be different within a request. Where an alias is another tool's name, nobody could tell whose call it is, so the tool with the alias is left out; two aliases that are the same leave both out.",
    bad: &[
        (
            ".harness/tools/read_note.md",
            "---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
        ),
        (
            ".harness/tools/read_old_note.md",
            "---\naliases: {openai: read_note}\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
        ),
    ],
    good: &[
        (
            ".harness/tools/read_note.md",
            "---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
        ),
        (
            ".harness/tools/read_old_note.md",
            "---\naliases: {openai: read_old}\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
        ),
    ],
    check: Check::WhileExporting,
};
