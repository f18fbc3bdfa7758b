//! `SCRIPT_NO_HANDLE`.

use super::Check;
use crate::check::subject::{Findings, HookSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_NO_HANDLE",
    severity: Severity::Error,
    why: "The harness calls the function `handle` of a hook's script for each event. Without that \
          function the hook would guard nothing, so it blocks instead.",
    bad: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nscript: |\n  def handler(event, payload):\n      return allow()\n---\nWatches.\n",
    )],
    good: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
    )],
    check: Check::Hook(check),
};

fn check(subject: &HookSubject<'_>, findings: &mut Findings<'_>) {
    let Some(script) = &subject.hook.script else {
        return;
    };
    let Some(facts) = subject.project.read_facts(ScriptKind::Hook, script) else {
        return;
    };
    if facts
        .functions
        .iter()
        .any(|function| function.at.name == "handle")
    {
        return;
    }
    let (place, help) = match &facts.functions[..] {
        [only] => (
            script.place_of(only.at.position()),
            format!("rename `{}` to `handle`", only.at.name),
        ),
        _ => (
            script.place.clone(),
            "add `def handle(event, payload):`, which returns a decision".to_owned(),
        ),
    };
    findings.add(
        RULE.finding("the script does not define `handle(event, payload)`")
            .at(place)
            .field("script")
            .help(help),
    );
}
