//! `DOMAIN_INVALID`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "DOMAIN_INVALID",
    severity: Severity::Error,
    why: "An entry that cannot be read may have been meant to keep a host out, so the whole list \
          admits nothing.",
    bad: &[(
        "harness.md",
        "---\nnetwork:\n  allowed_domains: [\"https://example.com/docs\"]\n---\nYou keep notes.\n",
    )],
    good: &[(
        "harness.md",
        "---\nnetwork:\n  allowed_domains: [example.com]\n---\nYou keep notes.\n",
    )],
    check: (),
};
