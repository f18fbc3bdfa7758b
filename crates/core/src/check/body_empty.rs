//! `BODY_EMPTY`.

use super::subject::{Findings, ToolSubject, tool_place};
use super::{Check, Rule};
use crate::artifact::Form;
use crate::diagnostic::Severity;

pub(crate) const RULE: Rule = Rule {
    code: "BODY_EMPTY",
    severity: Severity::Warning,
    why: "The description is all a model knows about a tool besides its arguments. Without one it sees the bare name.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    check: Check::Tool(check),
};

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
