//! `HOOK_WHEN_IMPURE`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "HOOK_WHEN_IMPURE",
    severity: Severity::Error,
    why: "`when` decides for every event whether a hook runs at all. It is one expression over \
          `event` and `payload` and touches nothing else, so that it is quick and always gives \
          the same answer. The `when` of a context is one expression, too, and may ask `ctx` and \
          `env`.",
    bad: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nwhen: fs.exists(\"watch.txt\")\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
    )],
    good: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nwhen: payload[\"is_error\"]\nscript: |\n  def handle(event, payload):\n      return allow()\n---\nWatches.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    let Some(impure) = &facts.impure else { return };
    let help = match subject.kind {
        ScriptKind::Condition => {
            "write one expression of values, operators, `ctx.get(key)`, `ctx.has(key)` and `env(name)`"
        }
        _ => "write one expression over `event` and `payload`, and leave the rest to `handle`",
    };
    findings.add(
        RULE.finding(format!("`when` is not a pure expression: {}", impure.name))
            .at(subject.script.place_of(impure.position()))
            .field("when")
            .help(help),
    );
}
