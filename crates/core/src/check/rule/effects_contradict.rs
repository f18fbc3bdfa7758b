//! `EFFECTS_CONTRADICT`.

use super::Check;
use crate::artifact::rule::effects_contradict::{self, contradictions};
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::Rule;

pub(super) const RULE: Rule<Check> = effects_contradict::RULE.with(Check::Tool(check));

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    for (earlier, later) in contradictions(&tool.declared_effects) {
        let line = tool.place(earlier.span).position().line;
        findings.add(
            RULE.finding(format!(
                "`{}` contradicts `{}` on line {line}",
                later.spelling, earlier.spelling
            ))
            .at(tool.place(later.span))
            .help("keep the one that is true and remove the other"),
        );
    }
}
