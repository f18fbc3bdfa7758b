//! `HOOK_EVENT_IDLE`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};
use crate::hook_event::{HookEvent, RAISED, find};

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_EVENT_IDLE",
    severity: Severity::Note,
    why: "The event is known, but the part of the harness that raises it does not exist yet. The \
          hook is kept and does not run.",
    bad: &[(
        ".harness/hooks/greet_session.md",
        "---\nevent: session.start\nscript: |\n  def handle(event, payload):\n      log.info(\"hello\")\n      return allow()\n---\nSays hello.\n",
    )],
    good: &[(
        ".harness/hooks/greet_session.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      log.info(\"hello\")\n      return allow()\n---\nSays hello.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let Some(event) = &subject.hook.event else {
        return;
    };
    if find(&event.value).is_none_or(HookEvent::is_raised) {
        return;
    }
    findings.add(
        RULE.finding(format!(
            "nothing raises `{}` yet, so this hook does not run",
            event.value
        ))
        .at(subject.hook.place(event.span))
        .field("event")
        .help(format!("raised today: {}", RAISED.join(", "))),
    );
}
