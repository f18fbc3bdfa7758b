//! `BUILTIN_CLOSED`.

use super::Check;
use crate::artifact::rule::READ_NOTE;
use crate::check::reach::reached;
use crate::check::subject::{Findings, ToolSubject};
use crate::diagnostic::{Rule, Severity};
use crate::span::Position;
use std::collections::BTreeMap;

pub(super) const RULE: Rule<Check> = Rule {
    code: "BUILTIN_CLOSED",
    severity: Severity::Warning,
    why: "The model is offered the tool, and its script fails when it comes to the built-in that \
          the policy closes.",
    bad: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {deny: [\"fs.*\"]}\n---\nYou help.\n",
        ),
    ],
    good: &[
        READ_NOTE,
        (
            "harness.md",
            "---\ntools_policy: {deny: [\"fs.remove\"]}\n---\nYou help.\n",
        ),
    ],
    check: Check::Tool(check),
};

fn check(subject: &ToolSubject<'_>, findings: &mut Findings<'_>) {
    let (Some(facts), Some(script)) = (subject.facts, &subject.tool.script) else {
        return;
    };
    let mut closed: BTreeMap<Position, Vec<_>> = BTreeMap::new();
    for (named, _) in reached(facts) {
        if let Some(rule) = subject.project.closed.closing(&named.name) {
            let there = closed.entry(named.position()).or_default();
            there.push((named.name.as_str(), rule));
        }
    }
    if closed.is_empty() || !subject.project.is_shown(&subject.tool.name) {
        return;
    }
    for (position, there) in closed {
        let Some((name, rule)) = there.first() else {
            continue;
        };
        let at = match &rule.place {
            Some(place) => format!(" at {place}"),
            None => String::new(),
        };
        let mut finding = match there.len() {
            1 => RULE.finding(format!(
                "`{name}` raises in this script: it is closed by `{}`{at}",
                rule.words
            )),
            // A module that is passed on counts as all of it, whatever the script does with it.
            count => RULE.finding(format!(
                "`{name}` and {} more raise in this script: `{}`{at} closes them",
                count - 1,
                rule.words
            )),
        };
        if there.len() > 1 {
            finding.severity = Severity::Note;
        }
        let places = [script.place_of(position)].into_iter();
        findings.add(
            finding
                .at_any(places.chain(rule.place.clone()))
                .field("script")
                .help("open the built-in, leave the tool out, or write the script without it"),
        );
    }
}
