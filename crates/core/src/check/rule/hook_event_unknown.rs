//! `HOOK_EVENT_UNKNOWN`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};
use crate::hook_event::{HOOK_EVENTS, find};
use crate::nearest::suggest;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_EVENT_UNKNOWN",
    severity: Severity::Error,
    why: "A hook on an event that never fires guards nothing while its author believes it does. \
          Until it is fixed it blocks every event that can be blocked.",
    bad: &[(
        ".harness/hooks/guard_calls.md",
        "---\nevent: tool.before\nscript: |\n  def handle(event, payload):\n      return block(\"no calls today\")\n---\nStops every call.\n",
    )],
    good: &[(
        ".harness/hooks/guard_calls.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return block(\"no calls today\")\n---\nStops every call.\n",
    )],
    check: Check::Hook(check),
};

/// What other harnesses call these events, in lower case without separators.
const ELSEWHERE: &[(&str, &str)] = &[
    ("pretooluse", "tool.pre"),
    ("onpretooluse", "tool.pre"),
    ("beforetool", "tool.pre"),
    ("toolbefore", "tool.pre"),
    ("toolstart", "tool.pre"),
    ("posttooluse", "tool.post"),
    ("onposttooluse", "tool.post"),
    ("aftertool", "tool.post"),
    ("toolafter", "tool.post"),
    ("toolend", "tool.post"),
    ("sessionstart", "session.start"),
    ("sessionend", "session.end"),
    ("userpromptsubmit", "run.start"),
    ("stop", "agent.stop"),
    ("subagentstop", "delegation.post"),
    ("permissionrequest", "approval.requested"),
    ("onerror", "error"),
];

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let Some(event) = &subject.hook.event else {
        return;
    };
    if find(&event.value).is_some() {
        return;
    }
    findings.add(
        RULE.finding(format!("there is no event `{}`", event.value))
            .at(subject.hook.place(event.span))
            .field("event")
            .help(help_for(&event.value)),
    );
}

fn help_for(event: &str) -> String {
    let plain: String = event
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    if let Some((_, name)) = ELSEWHERE.iter().find(|(word, _)| *word == plain) {
        return format!("did you mean `{name}`?");
    }
    if event.starts_with("custom.") || event.starts_with("meta.") {
        return "what follows the first dot has lower case letters, digits, `_` and `.`".to_owned();
    }
    suggest(
        event,
        HOOK_EVENTS.iter().map(|event| event.name),
        "the events are",
    )
}
