//! `NAME_NOT_OFFERED`.

use super::Check;
use crate::artifact::Form;
use crate::artifact::tool::is_offerable;
use crate::check::subject::{Findings, ToolSubject, tool_place};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "NAME_NOT_OFFERED",
    severity: Severity::Error,
    why: "Model providers refuse a whole request when one tool name has a character they do not \
          accept. A name starts with a letter or `_` and has at most 64 letters, digits, `_` and \
          `-`; any other needs an alias.",
    bad: &[(
        ".harness/tools/read note.md",
        "---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  path: {type: string, required: true}\nscript: |\n  def run(args):\n      return fs.read(args[\"path\"])\n---\nReads one note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    let has_alias = tool
        .aliases
        .iter()
        .any(|(_, alias)| is_offerable(&alias.value));
    if is_offerable(&tool.name) || has_alias {
        return;
    }
    let change = match tool.origin.form {
        Form::File => "rename the file",
        Form::Inline(_) => "change `name`",
    };
    findings.add(
        RULE.finding(format!("the name `{}` cannot be offered to a model", tool.name)).at(tool_place(tool)).help(format!(
            "{change} to at most 64 of `A-Z a-z 0-9 _ -`, not starting with a digit or `-`, or give it a name under `aliases`"
        )),
    );
}
