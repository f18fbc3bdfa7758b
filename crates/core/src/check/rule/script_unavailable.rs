//! `SCRIPT_UNAVAILABLE`.

use super::Check;
use crate::builtin::{Body, DELEGATE_IN_TOOLS, Scope};
use crate::check::reach::reached;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::ScriptKind;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_UNAVAILABLE",
    severity: Severity::Note,
    why: "The built-in and its effects are known, but this version does not have it yet: the \
          script loads, and fails at the call.",
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
        ScriptKind::When | ScriptKind::Condition => return,
    };
    for (named, builtin) in reached(facts) {
        let missing = match builtin.body {
            Body::Absent(missing) => missing,
            Body::Worker if named.name == "delegate" && subject.kind == ScriptKind::Tool => {
                DELEGATE_IN_TOOLS
            }
            _ => continue,
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
