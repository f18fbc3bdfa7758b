//! `SCRIPT_NUMBER_FORMAT`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_NUMBER_FORMAT",
    severity: Severity::Error,
    why: "In Starlark, `%` and `format` take no width and no precision: `\"%.2f\" % x` raises in \
          the middle of a run.",
    bad: &[(
        ".harness/tools/convert_price.md",
        "---\nscript: |\n  def run(args):\n      return \"%.2f\" % 1.5\n---\nConverts a price.\n",
    )],
    good: &[(
        ".harness/tools/convert_price.md",
        "---\nscript: |\n  def run(args):\n      return string.format_number(1.5, digits=2)\n---\nConverts a price.\n",
    )],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    for format in &facts.number_formats {
        findings.add(
            RULE.finding(format!("Starlark has no format `{}`", format.name))
                .at(subject.script.place_of(format.position()))
                .field(subject.field)
                .help("write `string.format_number(x, digits=2)` for numbers, `string.pad_left(text, width)` for columns"),
        );
    }
}
