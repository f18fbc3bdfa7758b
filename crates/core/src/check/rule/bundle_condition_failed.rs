//! `BUNDLE_CONDITION_FAILED`.

use super::Check;
use crate::artifact::{BundleDoubt, BundleState};
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};
use crate::span::Place;

pub(in crate::check) const RULE: Rule<Check> = Rule {
    code: "BUNDLE_CONDITION_FAILED",
    severity: Severity::Error,
    why: "A condition that gives no answer leaves open whether the bundle counts. Its guards stay \
          on and its tools are off, because that is the safe side of either answer.",
    bad: &[(
        ".harness/plugins/reviews.md",
        r#"---
condition: fs.exists("reviews")
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
    good: &[(
        ".harness/plugins/reviews.md",
        r#"---
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
    check: Check::Report(check),
};

fn check(project: &Project<'_>, findings: &mut Findings<'_>) {
    report(&RULE, project, findings);
}

/// Reports what turned the tools of bundles off, where this rule found it.
pub(super) fn report(rule: &Rule<Check>, project: &Project<'_>, findings: &mut Findings<'_>) {
    for bundle in project.bundles {
        if let BundleState::HooksOnly(found) = &bundle.state
            && found.found.code == rule.code
        {
            findings.add(found.found.clone());
        }
    }
}

/// The finding about a condition that gave no answer.
pub(in crate::check) fn found(why: String, help: Option<&str>, place: Place) -> BundleDoubt {
    let finding = RULE.finding(format!(
        "`condition` gives no answer, so this bundle's hooks are on and its tools are off: {why}"
    ));
    let help =
        help.unwrap_or("write one expression with `ctx.get`, `ctx.has`, `env` and pure built-ins");
    BundleDoubt {
        because: why,
        found: finding.at(place).field("condition").help(help),
    }
}
