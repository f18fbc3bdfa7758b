//! `BUNDLE_TYPE_DIFFERS`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "BUNDLE_TYPE_DIFFERS",
    severity: Severity::Warning,
    why: "The folder of a bundle says what it is, and so whether it may replace tools. A \
          `type` that says something else misleads whoever reads the file.",
    bad: &[(
        ".harness/plugins/reviews.md",
        r#"---
type: override
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
type: plugin
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
