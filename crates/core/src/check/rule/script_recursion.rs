//! `SCRIPT_RECURSION`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_RECURSION",
    severity: Severity::Error,
    why: "Functions may not call themselves, directly or in a cycle: a script must end, and \
          recursion is the simplest way not to.",
    bad: &[(
        ".harness/tools/count_down.md",
        "---\nscript: |\n  def down(n):\n      return 0 if n == 0 else down(n - 1)\n\n  def run(args):\n      return down(3)\n---\nCounts down.\n",
    )],
    good: &[(
        ".harness/tools/count_down.md",
        "---\nscript: |\n  def down(n):\n      for i in range(n):\n          n = n - 1\n      return n\n\n  def run(args):\n      return down(3)\n---\nCounts down.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for circle in &facts.recursion {
        findings.add(
            RULE.finding(format!("recursion: `{}`", circle.name))
                .at(subject.script.place_of(circle.position()))
                .field("script")
                .help("use a `for` loop over a `range` or a list"),
        );
    }
}
