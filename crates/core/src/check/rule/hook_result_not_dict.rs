//! `HOOK_RESULT_NOT_DICT`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_RESULT_NOT_DICT",
    severity: Severity::Note,
    why: "`result` of a call that failed and left no value is a string, the text of the error. A \
          hook that reads it as a dict fails there, and nobody sees the tool's own error.",
    bad: &[(
        ".harness/hooks/audit_words.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      log.info(\"counted\", words = payload[\"result\"].get(\"words\", 0))\n      return allow()\n---\nWrites down what was counted.\n",
    )],
    good: &[(
        ".harness/hooks/audit_words.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      if payload[\"is_error\"]:\n          return allow()\n      log.info(\"counted\", words = payload[\"result\"].get(\"words\", 0))\n      return allow()\n---\nWrites down what was counted.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let event = subject.hook.event.as_ref();
    if event.is_none_or(|event| event.value != "tool.post") {
        return;
    }
    // A `when` may leave failed calls out.
    let looks = |key: &str| matches!(key, "is_error" | "error" | "error_code");
    let asks = subject.scripts.iter().any(|(_, facts)| {
        let keys = facts
            .payload_keys
            .iter()
            .chain(&facts.optional_payload_keys);
        keys.into_iter().any(|key| looks(&key.name))
    });
    if asks {
        return;
    }
    for (script, facts) in &subject.scripts {
        let Some(first) = facts.dict_results.first() else {
            continue;
        };
        findings.add(
            RULE.finding(format!(
                "`payload[\"result\"]` is a string if the call failed, and only a dict has `{}`",
                first.name
            ))
            .at(script.place_of(first.position()))
            .help("test `payload[\"is_error\"]` first, or `type(payload[\"result\"]) == \"dict\"`"),
        );
    }
}
