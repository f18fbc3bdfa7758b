//! `INJECT_IS_PARAMETER`.

use super::Check;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};
use crate::schema::mentions;

pub(super) const RULE: Rule<Check> = Rule {
    code: "INJECT_IS_PARAMETER",
    severity: Severity::Error,
    why: "The harness fills in what `inject` names, and refuses a call that sends it. A parameter \
          of the same name tells the model to send it, wherever the schema mentions it: in \
          `required`, in a branch such as `anyOf`, or behind a reference.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nparameters:\n  session: { type: string }\ninject:\n  session: session_id\nscript: |\n  def run(args):\n      return fs.read(args[\"session\"])\n---\nReads the note.\n",
    )],
    good: &[(
        ".harness/tools/read_note.md",
        "---\ninject:\n  session: session_id\nscript: |\n  def run(args):\n      return fs.read(args[\"session\"])\n---\nReads the note.\n",
    )],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let tool = subject.tool;
    for (name, inject) in tool
        .inject
        .iter()
        .filter(|(name, _)| mentions(&tool.input_schema, name))
    {
        findings.add(
            RULE.finding(format!(
                "`{name}` is injected, but the schema declares it as a parameter"
            ))
            .at(tool.place(inject.span))
            .field(format!("inject.{name}"))
            .help(format!(
                "remove `{name}` from the parameters, or inject it under another name"
            )),
        );
    }
}
