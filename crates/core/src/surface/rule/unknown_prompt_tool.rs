//! `TOOL_SURFACE_UNKNOWN_PROMPT_TOOL`.

use super::Check;
use crate::diagnostic::{Rule, Severity};
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNKNOWN_PROMPT_TOOL",
    severity: Severity::Warning,
    why: "A model that is told to use a tool it does not have calls it, is refused, and tries \
          again.",
    bad: &[
        (
            ".harness/tools/read_note.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
        ),
        (
            "harness.md",
            "---\nformat: 1\n---\nCall read_notes() before you answer.\n",
        ),
    ],
    good: &[
        (
            ".harness/tools/read_note.md",
            "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
        ),
        (
            "harness.md",
            "---\nformat: 1\n---\nCall read_note() before you answer.\n",
        ),
    ],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for said in &subject.mentions.unknown {
        let close = subject.nearest(&said.name);
        let help = match close {
            Some(close) => format!("did you mean `{close}`?"),
            None => "declare the tool, change the text, or put `<!-- harness: ignore-next-line -->` before it if it is meant as an example"
                .to_owned(),
        };
        findings.add(
            RULE.finding(format!(
                "the text uses tool \"{}\", which is not declared",
                said.name
            ))
            .at_any(said.places.iter().cloned())
            .tool(&*said.name)
            .field("prompt")
            .help(help),
        );
    }
}
