//! `HOOK_PARAMETERS_SWAPPED`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_PARAMETERS_SWAPPED",
    severity: Severity::Warning,
    why: "The harness calls `handle` with the event first and the payload second, whatever the \
          parameters are called. With the names swapped, the script looks for the payload in the \
          event's name.",
    bad: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nscript: |\n  def handle(payload, event):\n      return allow()\n---\nWatches.\n",
    )],
    good: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let (ScriptKind::Hook, Ok(facts)) = (subject.kind, subject.facts) else {
        return;
    };
    let Some(handle) = facts
        .functions
        .iter()
        .rfind(|function| function.at.name == "handle")
    else {
        return;
    };
    let called = |index: usize, name: &str| {
        handle
            .parameters
            .get(index)
            .is_some_and(|parameter| parameter == name)
    };
    if !called(0, "payload") && !called(1, "event") {
        return;
    }
    findings.add(
        RULE.finding(format!(
            "`handle({})` is called with the event first and the payload second",
            handle.parameters.join(", ")
        ))
        .at(subject.script.place_of(handle.at.position()))
        .field("script")
        .help("write `def handle(event, payload):`"),
    );
}
