//! `FIELD_UNSUPPORTED`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, Owner, Project};
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::span::Place;
use crate::span::Spanned;

pub(in crate::check) const RULE: Rule<Check> = Rule {
    code: "FIELD_UNSUPPORTED",
    severity: Severity::Warning,
    why: "The field restricts calls, and this version cannot enforce it yet. Running the call \
          anyway would promise a protection that does not exist, so the call is refused.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nrequires_approval: args[\"all\"]\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    for (index, tool) in project.tools.iter().enumerate() {
        for field in &tool.unsupported {
            let finding = finding(
                field,
                tool.place(field.span),
                "calls of this tool are refused as `tool.unsupported`",
            );
            findings.add_for(Owner::Tool(index), finding);
        }
    }
    for (index, hook) in project.hooks.iter().enumerate() {
        for field in &hook.unsupported {
            let finding = finding(
                field,
                hook.place(field.span),
                "this hook blocks every call of its event",
            );
            findings.add_for(Owner::Hook(index), finding);
        }
    }
    if let Some(source) = &project.root.source {
        for field in &project.root.unsupported {
            findings.add(finding(
                field,
                Place::new(source, field.span),
                "every call is refused as `tool.unsupported`",
            ));
        }
    }
}

fn finding(field: &Spanned<&'static str>, place: Place, consequence: &str) -> Diagnostic {
    RULE.finding(format!(
        "`{}` is not enforced by this version: {consequence}",
        field.value
    ))
    .at(place)
    .field(field.value)
    .help(format!(
        "remove `{}`, or wait for a version that enforces it",
        field.value
    ))
}
