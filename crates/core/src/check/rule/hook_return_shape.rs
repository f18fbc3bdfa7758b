//! `HOOK_RETURN_SHAPE`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};
use crate::hook_event::find;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_RETURN_SHAPE",
    severity: Severity::Error,
    why: "A hook answers with a decision. A dict in the shape of another harness means nothing \
          here, so the guard would not guard.",
    bad: &[(
        ".harness/hooks/guard_calls.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return {\"decision\": \"block\", \"reason\": \"no calls today\"}\n---\nStops every call.\n",
    )],
    good: &[(
        ".harness/hooks/guard_calls.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return block(\"no calls today\")\n---\nStops every call.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let event = subject
        .hook
        .event
        .as_ref()
        .and_then(|event| find(&event.value));
    // An observer decides nothing and may return nothing.
    let watches = event.is_some_and(|event| !event.gating);
    for (script, facts) in &subject.scripts {
        for odd in facts
            .odd_returns
            .iter()
            .filter(|odd| !(watches && odd.name == "None"))
        {
            findings.add(
                RULE.finding(format!("this return value is not a decision: `{}`", odd.name))
                    .at(script.place_of(odd.position()))
                    .field("script")
                    .help("return `allow()`, `block(\"reason\")`, `ask(\"reason\")` or `modify({...})`, or a dict with `action`"),
            );
        }
    }
}
