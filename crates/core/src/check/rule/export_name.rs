//! `EXPORT_NAME`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_NAME",
    severity: Severity::Error,
    why: "A provider refuses a whole request if it does not accept one tool's name. The tool is \
          left out for that provider; a name under `aliases.<provider>` is used instead where \
          there is one.",
    bad: &[(
        ".harness/tools/read note.md",
        "---\naliases: {openai: read_note, anthropic: read_note}\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read note.md",
        "---\naliases: {openai: read_note, anthropic: read_note, gemini: read_note, mcp: read_note}\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: (),
};
