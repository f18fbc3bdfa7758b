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
    why: "A guard that reads a key its event never has sees nothing and lets everything pass: \
          `payload.get(\"argz\", {})` is always empty.",
    bad: &[(
        ".harness/hooks/guard_paths.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if \"secret\" in payload.get(\"argumets\", {}).get(\"path\", \"\"):\n          return block(\"secrets stay where they are\")\n      return allow()\n---\nKeeps secrets.\n",
    )],
    good: &[(
        ".harness/hooks/guard_paths.md",
        "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      if \"secret\" in payload.get(\"arguments\", {}).get(\"path\", \"\"):\n          return block(\"secrets stay where they are\")\n      return allow()\n---\nKeeps secrets.\n",
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
    let mut seen = HashSet::new();
    for (script, facts) in &subject.scripts {
        for key in &facts.payload_keys {
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
                .at(script.place_of(key.position()))
                .help(did_you_mean(close, &keys)),
            );
        }
    }
}
