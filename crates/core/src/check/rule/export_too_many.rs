//! `EXPORT_TOO_MANY`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_TOO_MANY",
    severity: Severity::Error,
    why: "A provider accepts only so many tools and refuses a request with more. The last ones by \
          name are left out. (The example would be too long: a project with more than 128 tools.)",
    bad: &[],
    good: &[],
    check: (),
};
