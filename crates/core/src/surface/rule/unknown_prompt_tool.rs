//! `TOOL_SURFACE_UNKNOWN_PROMPT_TOOL`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::diagnostic::{Rule, Severity};
use crate::nearest::did_you_mean;
use crate::surface::{Findings, Subject};

pub(crate) const RULE: Rule<Check> = Rule {
    code: "TOOL_SURFACE_UNKNOWN_PROMPT_TOOL",
    severity: Severity::Warning,
    why: "A model that is told to use a tool it does not have calls it, is refused, and tries \
          again.",
    bad: &[
        READ_NOTE,
        (
            "harness.md",
            "---\nformat: 1\n---\nCall read_notes() before you answer.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            "harness.md",
            "---\nformat: 1\n---\nCall read_note() before you answer.\n",
        ),
    ],
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for said in &subject.mentions.unknown {
        let otherwise = "declare the tool, change the text, or put `<!-- harness: ignore-next-line -->` before it if it is meant as an example";
        let help = did_you_mean(subject.nearest(&said.name), otherwise);
        findings.add(said.finding(&RULE, "is not declared").help(help));
    }
}
