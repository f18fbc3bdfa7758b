//! `HOOK_ERROR_IS_TEXT`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_ERROR_IS_TEXT",
    severity: Severity::Warning,
    why: "`error` of `tool.post` is always a string: the message, or `\"\"` if the call did not \
          fail. A hook that reads it as a dict fails on every failed call, and nobody sees the \
          tool's own error; a comparison with `None` takes every call for a failed one.",
    bad: &[(
        ".harness/hooks/audit_errors.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      if payload[\"is_error\"]:\n          log.warn(payload[\"error\"][\"code\"])\n      return allow()\n---\nWrites down what failed.\n",
    )],
    good: &[(
        ".harness/hooks/audit_errors.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      if payload[\"is_error\"]:\n          log.warn(payload[\"error_code\"])\n      return allow()\n---\nWrites down what failed.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let event = subject.hook.event.as_ref();
    if event.is_none_or(|event| event.value != "tool.post") {
        return;
    }
    for (script, facts) in &subject.scripts {
        for used in &facts.dict_errors {
            let (message, help) = match used.name.as_str() {
                "None" => (
                    "`payload[\"error\"]` is never `None`; it is `\"\"` if the call did not fail"
                        .to_owned(),
                    "test `payload[\"is_error\"]`".to_owned(),
                ),
                part => (
                    format!("`payload[\"error\"]` is a string, so it has no `{part}`"),
                    instead(part),
                ),
            };
            findings.add(
                RULE.finding(message)
                    .at(script.place_of(used.position()))
                    .help(help),
            );
        }
    }
}

fn instead(part: &str) -> String {
    match part {
        "code" => "write `payload[\"error_code\"]`".to_owned(),
        "message" => "write `payload[\"error\"]`; it is the message".to_owned(),
        "details" => "write `payload[\"error_details\"]`".to_owned(),
        _ => "`payload[\"error\"]` is the message; `payload[\"error_code\"]` and \
              `payload[\"error_details\"]` are beside it"
            .to_owned(),
    }
}
