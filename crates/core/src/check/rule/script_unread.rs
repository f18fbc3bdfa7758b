//! `SCRIPT_UNREAD`.

use super::Check;
use crate::check::subject::{Findings, ScriptSubject};
use crate::diagnostic::{Rule, Severity};
use crate::facts::Unread;

pub(crate) const RULE: Rule<Check> = Rule {
    code: "SCRIPT_UNREAD",
    severity: Severity::Error,
    why: "Scripts are parsed in a process of their own. If the harness cannot start one, for \
          example on a machine that is out of processes or file descriptors, it knows nothing \
          about the script and does not use it. (No file is wrong, so there is no example.)",
    bad: &[],
    good: &[],
    check: Check::Script(check),
};

fn check(subject: &ScriptSubject<'_>, findings: &mut Findings<'_>) {
    let Err(Unread::NoWorker { why, .. }) = subject.facts else {
        return;
    };
    let field = subject.field;
    findings.add(
        RULE.finding(format!("no worker could be started to read `{field}`: {why}"))
            .at(subject.script.place.clone())
            .field(field)
            .help("the file may be fine; free the machine's processes or file descriptors, or raise their limits, and try again"),
    );
}
