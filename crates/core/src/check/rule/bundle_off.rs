//! `BUNDLE_OFF`.

use crate::artifact::Bundle;
use crate::diagnostic::{Diagnostic, Rule, Severity};
use crate::span::Place;

pub(in crate::check) const RULE: Rule = Rule {
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
    check: (),
};

/// The finding about a bundle whose condition is false.
pub(in crate::check) fn found(bundle: &Bundle, place: Place) -> Diagnostic {
    RULE.finding(format!(
        "`condition` is false here, so none of this bundle counts: tools {}, hooks {}",
        bundle.tools.len(),
        bundle.hooks
    ))
    .at(place)
    .field("condition")
    .help("it is evaluated when the project is loaded: `ctx` is empty, and `env` reads what `sandbox.env` lists")
}
