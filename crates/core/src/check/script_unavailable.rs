//! `SCRIPT_UNAVAILABLE`.

use super::reach::reached;
use super::subject::{Findings, ScriptSubject};
use super::{Check, Rule};
use crate::builtin::{Body, Scope};
use crate::diagnostic::Severity;
use crate::facts::ScriptKind;

pub(super) const RULE: Rule = Rule {
    code: "SCRIPT_UNAVAILABLE",
    severity: Severity::Note,
    why: "The built-in is known, with its effects, but this version does not have it yet: the script loads, and fails where it calls it.",
    bad: &[(
        ".harness/tools/list_changes.md",
        "---\nscript: |\n  def run(args):\n      return task.poll(\"changes\")\n---\nLists what changed.\n",
    )],
    good: &[(
        ".harness/tools/list_changes.md",
        "---\nscript: |\n  def run(args):\n      return fs.list(\"changes\")\n---\nLists what changed.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    let foreign = match subject.kind {
        ScriptKind::Tool => Scope::Hooks,
        ScriptKind::Hook => Scope::Tools,
        ScriptKind::When => return,
    };
    for (named, builtin) in reached(facts) {
        let Body::Absent(missing) = builtin.body else {
            continue;
        };
        if builtin.scope == foreign {
            continue;
        }
        findings.add(
            RULE.finding(format!("`{}` is not available yet", named.name))
                .at(subject.script.place_of(named.position()))
                .field("script")
                .help(missing),
        );
    }
}
