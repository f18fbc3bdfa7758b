//! `SCRIPT_ARITY`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_ARITY",
    severity: Severity::Error,
    why: "The harness calls `run` with one argument, the dict of arguments, and `handle` with \
          two, the event and the payload. With any other number of parameters every call fails.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run():\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    let (entry, given, form) = match subject.kind {
        ScriptKind::Tool => ("run", 1, "def run(args):"),
        ScriptKind::Hook => ("handle", 2, "def handle(event, payload):"),
        ScriptKind::When | ScriptKind::Condition => return,
    };
    // A later definition of the same name replaces an earlier one.
    let Some(function) = facts
        .functions
        .iter()
        .rfind(|function| function.at.name == entry)
    else {
        return;
    };
    if function.required <= given && function.accepted.is_none_or(|most| most >= given) {
        return;
    }
    let takes = match (function.required, function.accepted) {
        (least, Some(most)) if least == most => format!("{least}"),
        (least, Some(most)) => format!("{least} to {most}"),
        (least, None) => format!("at least {least}"),
    };
    findings.add(
        RULE.finding(format!(
            "`{entry}` takes {takes} positional arguments but is called with {given}"
        ))
        .at(subject.script.place_of(function.at.position()))
        .field("script")
        .help(format!("write `{form}`")),
    );
}
