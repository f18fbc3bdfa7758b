//! `BUNDLE_DEPENDENCY`.

use super::Check;
use super::bundle_condition_failed::report;
use crate::artifact::{Bundle, BundleDoubt};
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};
use crate::nearest::{did_you_mean, nearest};
use crate::span::Place;

pub(in crate::check) const RULE: Rule<Check> = Rule {
    code: "BUNDLE_DEPENDENCY",
    severity: Severity::Error,
    why: "The tools of a bundle may rely on the guards of the bundles that it depends on. Without \
          them its own guards stay on and its tools are off.",
    bad: &[(
        ".harness/plugins/reviews.md",
        r#"---
depends_on: [audit]
tools:
  - name: count_reviews
    description: Counts the reviews.
    script: |
      def run(args):
          return len(fs.list("reviews"))
---
Reviews.
"#,
    )],
    good: &[
        (
            ".harness/plugins/reviews.md",
            r#"---
depends_on: [audit]
tools:
  - name: count_reviews
    description: Counts the reviews.
    script: |
      def run(args):
          return len(fs.list("reviews"))
---
Reviews.
"#,
        ),
        (
            ".harness/builtins/audit.md",
            r#"---
hooks:
  - event: tool.pre
    name: count_calls
    script: |
      def handle(event, payload):
          metrics.incr("calls")
          return allow()
---
Counts calls.
"#,
        ),
    ],
    check: Check::Report(check),
};

/// Why a bundle does not serve those that depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::check) enum Missing {
    /// There is none of that name.
    Absent,
    /// It depends on itself.
    Circular,
    /// Its tools are off.
    HooksOnly,
    /// It is off.
    Off,
}

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    report(&RULE, project, findings);
}

/// The one finding about everything that a bundle lacks, by the positions in its `depends_on`.
pub(in crate::check) fn found<'a>(
    bundle: &Bundle,
    missing: &[(usize, Missing)],
    names: impl Iterator<Item = &'a str>,
) -> BundleDoubt {
    let named = |entry: usize| bundle.depends_on.get(entry);
    let reasons = missing.iter().filter_map(|&(entry, why)| {
        let name = &named(entry)?.value;
        Some(match why {
            Missing::Absent => format!("there is no bundle `{name}`"),
            Missing::Circular => format!("`{name}` depends on itself"),
            Missing::HooksOnly => format!("the tools of `{name}` are off"),
            Missing::Off => format!("`{name}` is off"),
        })
    });
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    let mut finding = RULE.finding(format!(
        "this bundle's hooks are on and its tools are off: {reasons}"
    ));
    let is_mistake = |why: Missing| matches!(why, Missing::Absent | Missing::Circular);
    if !missing.iter().any(|&(_, why)| is_mistake(why)) {
        // The bundle is right; what it needs is switched off.
        finding.severity = Severity::Warning;
    }
    let first = missing.first().copied();
    let place = first
        .and_then(|(entry, _)| named(entry))
        .map_or_else(|| bundle.place(), |at| Place::new(&bundle.source, at.span));
    let help = match first {
        Some((entry, Missing::Absent)) => {
            let name = named(entry).map_or("", |at| at.value.as_str());
            let close = nearest(name, names.filter(|other| *other != bundle.name));
            did_you_mean(
                close,
                "add the bundle, or remove the entry; a bundle has the name of its file",
            )
        }
        Some((_, Missing::Circular)) => "remove one of the entries that form the circle".to_owned(),
        _ => "`harness list bundles` says why it is off".to_owned(),
    };
    BundleDoubt {
        because: reasons,
        found: finding.at(place).field("depends_on").help(help),
    }
}
