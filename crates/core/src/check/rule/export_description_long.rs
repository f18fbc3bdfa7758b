//! `EXPORT_DESCRIPTION_LONG`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_DESCRIPTION_LONG",
    severity: Severity::Note,
    why: "Some servers that speak the Chat Completions API, among them Azure, refuse a request in which one description has more than 1,024 characters. It is written as it is. (The example would be too long.)",
    bad: &[],
    good: &[],
    check: (),
};
