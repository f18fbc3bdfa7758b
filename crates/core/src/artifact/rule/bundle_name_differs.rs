//! `BUNDLE_NAME_DIFFERS`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "BUNDLE_NAME_DIFFERS",
    severity: Severity::Warning,
    why: "The name of the file is the name of the bundle. Another bundle whose `depends_on` \
          uses the written name would not find it.",
    bad: &[(
        ".harness/plugins/reviews.md",
        r#"---
name: code-reviews
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
name: reviews
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
