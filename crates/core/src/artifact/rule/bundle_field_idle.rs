//! `BUNDLE_FIELD_IDLE`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "BUNDLE_FIELD_IDLE",
    severity: Severity::Note,
    why: "Nothing reads the field: folders and `depends_on` order bundles, each hook has its \
          own priority, and policy looks at the tags of tools.",
    bad: &[(
        ".harness/plugins/reviews.md",
        r#"---
priority: 10
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
    check: (),
};
