//! `HOOK_RESULT_NOT_TEXT`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};
use crate::hook_event::find;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_RESULT_NOT_TEXT",
    severity: Severity::Warning,
    why: "`result` is what the tool returned: often a dict or a list, which has no `lower`. The \
          hook then fails, and the result of the call is withheld. `content` is the same answer \
          and always text.",
    bad: &[(
        ".harness/hooks/hide_passwords.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      if \"password\" in payload[\"result\"].lower():\n          return modify({\"content\": \"hidden\"})\n      return allow()\n---\nHides passwords.\n",
    )],
    good: &[(
        ".harness/hooks/hide_passwords.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      if \"password\" in payload[\"content\"].lower():\n          return modify({\"content\": \"hidden\"})\n      return allow()\n---\nHides passwords.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let event = subject
        .hook
        .event
        .as_ref()
        .and_then(|event| find(&event.value));
    let Some(event) = event.filter(|event| event.has_key("result") && event.has_key("content"))
    else {
        return;
    };
    for (script, facts) in &subject.scripts {
        for read in &facts.text_results {
            let text = if read.name.contains('.') {
                format!("`{}` takes text", read.name)
            } else {
                format!("only text has `.{}`", read.name)
            };
            findings.add(
                RULE.finding(format!(
                    "`payload[\"result\"]` of `{}` may be a dict or a list, and {text}",
                    event.name
                ))
                .at(script.place_of(read.position()))
                .help("use `payload[\"content\"]`, which is always text"),
            );
        }
    }
}
