//! `BODY_EMPTY`.

use super::Check;
use crate::artifact::Form;
use crate::artifact::rule::body_empty;
use crate::check::subject::{Findings, ToolSubject, tool_place};
use crate::diagnostic::Rule;

pub(super) const RULE: Rule<Check> = body_empty::RULE.with(Check::Tool(check));

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    if tool.described {
        return;
    }
    let help = match tool.origin.form {
        Form::File => "write below the frontmatter what the tool does and when to use it",
        Form::Inline(_) => "say in `description` what the tool does and when to use it",
    };
    findings.add(
        RULE.finding(format!(
            "tool \"{}\" has no description: the model only sees the name",
            tool.name
        ))
        .at(tool_place(tool))
        .help(help),
    );
}
