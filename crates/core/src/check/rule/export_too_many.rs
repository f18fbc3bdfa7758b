//! `EXPORT_TOO_MANY`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_TOO_MANY",
    severity: Severity::Error,
    why: "A provider takes a certain number of tools in one request and refuses the request beyond it. The last ones by name are left out. (The example would be too long: a project with more than 128 tools.)",
    bad: &[],
    good: &[],
    check: (),
};
