//! `HOOK_PAYLOAD_KEY`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};
use crate::hook_event::{Keys, find};
use crate::nearest::{backticked, did_you_mean, nearest};
use std::collections::HashSet;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_PAYLOAD_KEY",
    severity: Severity::Error,
    why: "A hook that reads `payload[\"argz\"]`, a key its event never has, fails every time. With \
          `payload.get(\"argz\", {})`, a warning, the guard sees nothing and lets everything pass.",
    bad: &[(
        ".harness/hooks/guard_paths.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if \"secret\" in payload[\"argumets\"].get(\"path\", \"\"):\n          return block(\"secrets stay where they are\")\n      return allow()\n---\nKeeps secrets.\n",
    )],
    good: &[(
        ".harness/hooks/guard_paths.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if \"secret\" in payload[\"arguments\"].get(\"path\", \"\"):\n          return block(\"secrets stay where they are\")\n      return allow()\n---\nKeeps secrets.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let Some(event) = subject
        .hook
        .event
        .as_ref()
        .and_then(|event| find(&event.value))
    else {
        return;
    };
    let Keys::Only(known) = event.keys else {
        return;
    };
    let raising = subject.scripts.iter().flat_map(|(script, facts)| {
        let keys = facts.payload_keys.iter();
        keys.map(|key| (*script, key, Severity::Error))
    });
    let handled = subject.scripts.iter().flat_map(|(script, facts)| {
        let keys = facts.optional_payload_keys.iter();
        keys.map(|key| (*script, key, Severity::Warning))
    });
    let mut seen = HashSet::new();
    for (script, key, severity) in raising.chain(handled) {
        if event.has_key(&key.name) || !seen.insert(key.name.as_str()) {
            continue;
        }
        let keys = format!("`{}` has {}", event.name, backticked(known.split(' ')));
        let close = nearest(&key.name, known.split(' '));
        findings.add(
            RULE.finding(format!(
                "the payload of `{}` never has `{}`",
                event.name, key.name
            ))
            .severity(severity)
            .at(script.place_of(key.position()))
            .help(did_you_mean(close, &keys)),
        );
    }
}
