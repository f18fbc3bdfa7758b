//! `SANDBOX_WIDENED`.

use super::Check;
use crate::check::subject::{Findings, Project};
use crate::containment::Containment;
use crate::diagnostic::{Rule, Severity};
use crate::span::Place;

pub(super) const RULE: Rule<Check> = Rule {
    code: "SANDBOX_WIDENED",
    severity: Severity::Warning,
    why: "A cloned repository must not be able to open up its user's machine, so only the user's \
          or the machine's file can let processes touch more than the workspace. In a project the \
          field has no effect.",
    bad: &[(
        "harness.md",
        "---\nsandbox: {mode: off}\n---\nYou keep notes.\n",
    )],
    good: &[(
        "harness.md",
        "---\nsandbox: {hidden: [private]}\n---\nYou keep notes.\n",
    )],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let Some(source) = &project.root.source else {
        return;
    };
    let sandbox = &project.root.sandbox;
    let off = sandbox
        .mode
        .as_ref()
        .filter(|mode| mode.value == Containment::Off)
        .map(|mode| ("sandbox.mode", mode.span));
    let readable = sandbox
        .readable
        .iter()
        .map(|place| ("sandbox.readable", place.span));
    let writable = sandbox
        .writable
        .iter()
        .map(|place| ("sandbox.writable", place.span));
    for (field, span) in off.into_iter().chain(readable).chain(writable) {
        let message = format!(
            "`{field}` has no effect in a project: a project cannot open up the machine it is cloned to"
        );
        findings.add(
            RULE.finding(message)
                .at(Place::new(source, span))
                .field(field)
                .help("a person can write it in their own file, `harness/harness.md` in their settings folder"),
        );
    }
}
