//! `SCRIPT_SCOPE`.

use super::Check;
use crate::builtin::Scope;
use crate::check::reach::reached;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_SCOPE",
    severity: Severity::Error,
    why: "Hooks judge and must not act: a guard that can start processes or write files can be \
          turned against what it guards. Only hooks decide: a tool that returns `allow()` decides \
          nothing.",
    bad: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      fs.write(\"log.txt\", payload[\"name\"])\n      return allow()\n---\nWatches.\n",
    )],
    good: &[(
        ".harness/hooks/watch_calls.md",
        "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      log(payload[\"name\"])\n      return allow()\n---\nWatches.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    let (foreign, who, help) = match subject.kind {
        ScriptKind::Tool => (
            Scope::Hooks,
            "tools",
            "return the result itself, or `error(code, message)`; a hook on `tool.pre` decides about calls",
        ),
        ScriptKind::Hook => (
            Scope::Tools,
            "hooks",
            "hooks can read files, use the pure built-ins, `log`, `emit` and `metrics`; let a tool do the work",
        ),
        // A `when` may use nothing but pure built-ins, which is another rule; so may a condition.
        ScriptKind::When | ScriptKind::Condition => return,
    };
    for (named, _) in reached(facts).filter(|(_, builtin)| builtin.scope == foreign) {
        findings.add(
            RULE.finding(format!("{who} do not have `{}`", named.name))
                .at(subject.script.place_of(named.position()))
                .field("script")
                .help(help),
        );
    }
}
