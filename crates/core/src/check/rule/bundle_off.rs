//! `BUNDLE_OFF`.

use super::Check;
use crate::artifact::BundleState;
use crate::check::subject::{Findings, Project};
use crate::diagnostic::{Rule, Severity};

pub(super) const RULE: Rule<Check> = Rule {
    code: "BUNDLE_OFF",
    severity: Severity::Note,
    why: "Nothing of a bundle whose condition is false counts: its tools are not offered and its \
          guards do not guard. The condition is evaluated when the project is loaded, with an \
          empty `ctx`.",
    bad: &[(
        ".harness/plugins/reviews.md",
        r#"---
condition: env("REVIEWS") == "on"
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
condition: env("REVIEWS") != "off"
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
    for bundle in project.bundles {
        let (BundleState::Off, Some(condition)) = (&bundle.state, &bundle.condition) else {
            continue;
        };
        findings.add(
            RULE.finding(format!(
                "`condition` is false here, so none of this bundle counts: tools {}, hooks {}",
                bundle.tools.len(),
                bundle.hooks
            ))
            .at(condition.place.clone())
            .field("condition")
            .help("it is evaluated when the project is loaded: `ctx` is empty, and `env` reads what `sandbox.env` lists"),
        );
    }
}
