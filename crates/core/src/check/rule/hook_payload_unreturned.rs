//! `HOOK_PAYLOAD_UNRETURNED`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_PAYLOAD_UNRETURNED",
    severity: Severity::Warning,
    why: "A hook's payload is its own copy. What it changes there has no effect until it returns \
          `modify(payload)`; with `allow()` the call and its result stay as they were.",
    bad: &[(
        ".harness/hooks/hide_result.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      payload[\"content\"] = \"hidden\"\n      return allow()\n---\nHides every result.\n",
    )],
    good: &[(
        ".harness/hooks/hide_result.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      payload[\"content\"] = \"hidden\"\n      return modify(payload)\n---\nHides every result.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for change in &facts.payload_changes {
        findings.add(
            RULE.finding(format!(
                "`{}` changes only this hook's copy of the payload: the hook never returns `modify`",
                change.name
            ))
            .at(subject.script.place_of(change.position()))
            .field("script")
            .help("return `modify(payload)`; or, if the copy is all you need, change `dict(payload)` instead"),
        );
    }
}
