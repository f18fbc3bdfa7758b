//! `SCRIPT_MATCH_UNTESTED`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_MATCH_UNTESTED",
    severity: Severity::Warning,
    why: "If nothing matches, `re.match` and `re.search` return None, so `m[\"matched\"]` is True \
          or raises: it never is False.",
    bad: &[(
        ".harness/tools/check_title.md",
        "---\nscript: |\n  def run(args):\n      m = re.match(\"[A-Z]\", \"title\")\n      return m[\"matched\"]\n---\nChecks a title.\n",
    )],
    good: &[(
        ".harness/tools/check_title.md",
        "---\nscript: |\n  def run(args):\n      m = re.match(\"[A-Z]\", \"title\")\n      return bool(m)\n---\nChecks a title.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for read in &facts.untested_matches {
        findings.add(
            RULE.finding("without a match there is no `matched` to read: the match is None")
                .at(subject.script.place_of(read.position()))
                .field(subject.field)
                .help("test the match itself, `if m:` or `bool(m)`"),
        );
    }
}
