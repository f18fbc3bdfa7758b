//! `SCRIPT_CRASHED`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::Unread;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_CRASHED",
    severity: Severity::Error,
    why: "Scripts are parsed in a process of their own with little memory and time. A script that \
          crashes that process, for example with thousands of nested brackets, cannot be used. \
          (The example would be too long to show.)",
    bad: &[],
    good: &[],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Err(Unread::Crashed(how)) = subject.facts else {
        return;
    };
    let field = subject.field;
    findings.add(
        RULE.finding(format!("`{field}` could not be read: {how}"))
            .at(subject.script.place.clone())
            .field(field)
            .help("make it shorter and less deeply nested; large data belongs in a file the script reads"),
    );
}
