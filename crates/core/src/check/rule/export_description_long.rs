//! `EXPORT_DESCRIPTION_LONG`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "EXPORT_DESCRIPTION_LONG",
    severity: Severity::Note,
    why: "Some servers that speak the Chat Completions API, Azure among them, refuse a request \
          with a description of more than 1,024 characters. The description is written unchanged. \
          (The example would be too long.)",
    bad: &[],
    good: &[],
    check: (),
};
