//! `SCRIPT_SYNTAX`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::python::instead_of_syntax;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_SYNTAX",
    severity: Severity::Error,
    why: "A script that does not parse can never run. Scripts are Starlark: like Python, without \
          `while`, `try`, `import` and classes.",
    bad: &[(
        ".harness/tools/read_note.md",
        "---\nscript: |\n  def run(args)\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
    )],
    good: &[READ_NOTE],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Ok(facts) = subject.facts else { return };
    let Some(error) = &facts.syntax else { return };
    let what = subject.field;
    findings.add(
        RULE.finding(format!("`{what}` does not parse: {}", error.name))
            .at(subject.script.place_of(error.position()))
            .field(what)
            .help(instead_of_syntax(
                &error.name,
                &subject.script.text,
                error.line,
                error.column,
            )),
    );
}
