//! `HOOK_WITHOUT_SCRIPT`.

use super::Check;
use crate::check::subject::{Findings, HookSubject, hook_place};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_WITHOUT_SCRIPT",
    severity: Severity::Warning,
    why: "A hook without a script belongs to a Rust host that has middleware of its name. Under \
          any other program nothing runs for it, and nothing is guarded.",
    bad: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\n---\nWatches.\n",
    )],
    good: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let hook = subject.hook;
    if hook.script.is_some() || hook.is_served {
        return;
    }
    findings.add(
        RULE.finding(format!(
            "hook \"{}\" has no script, and no host serves it: it does nothing",
            hook.name
        ))
        .at(hook_place(hook))
        .field("script")
        .help("add a `script` that defines `handle(event, payload)`, or remove the hook"),
    );
}
