//! `SCRIPT_GLOBAL_CHANGED`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_GLOBAL_CHANGED",
    severity: Severity::Warning,
    why: "What a script defines outside its functions is frozen when the script has loaded, so \
          that calls cannot disturb each other. Changing it in a function fails.",
    bad: &[(
        ".harness/tools/count_calls.md",
        "---\nparameters: {}\nscript: |\n  CALLS = []\n\n  def run(args):\n      CALLS.append(1)\n      return len(CALLS)\n---\nCounts calls.\n",
    )],
    good: &[(
        ".harness/tools/count_calls.md",
        "---\nparameters: {}\nscript: |\n  def run(args):\n      return state.increment(\"calls\")\n---\nCounts calls.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for global in &facts.changed_globals {
        findings.add(
            RULE.finding(format!(
                "`{}` cannot be changed in a function: it is frozen once the script has loaded",
                global.name
            ))
            .at(subject.script.place_of(global.position()))
            .field("script")
            .help(format!(
                "keep a value between calls with `state.get(\"{name}\")` and `state.set(\"{name}\", value)`; for one call, copy it: `list({name})` or `dict({name})`",
                name = global.name
            )),
        );
    }
}
