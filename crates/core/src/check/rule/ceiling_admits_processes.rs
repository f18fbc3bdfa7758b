//! `CEILING_ADMITS_PROCESSES`.

use super::Check;
use crate::artifact::root::Ceiling;
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};
use crate::effect::{Effects, Level};
use crate::span::Place;

pub(super) const RULE: Rule<Check> = Rule {
    code: "CEILING_ADMITS_PROCESSES",
    severity: Severity::Note,
    why: "The side-effect levels are ranked, and the network ranks above processes: a ceiling of \
          `network_read` also lets tools start programs.",
    bad: &[(
        "harness.md",
        "---\npolicy:\n  side_effect_level: network_read\n---\nYou help.\n",
    )],
    good: &[(
        "harness.md",
        "---\npolicy:\n  effects: [read, net_read]\n---\nYou help.\n",
    )],
    check: Check::Project(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    let (Some(source), Some(ceiling)) = (&project.root.source, &project.root.policy.ceiling) else {
        return;
    };
    let Ceiling::Level(level) = ceiling.value else {
        return;
    };
    if level <= Level::ProcessExec {
        return;
    }
    let precise: Vec<&str> = level.effects().without(Effects::EXEC).names().collect();
    findings.add(
        RULE.finding(format!(
            "the ceiling `{}` also admits processes",
            level.word()
        ))
        .at(Place::new(source, ceiling.span))
        .field("policy.side_effect_level")
        .help(format!(
            "if that is not meant, write `effects: [{}]`",
            precise.join(", ")
        )),
    );
}
