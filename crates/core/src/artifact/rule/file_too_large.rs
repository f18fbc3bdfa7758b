//! `FILE_TOO_LARGE`.

use crate::diagnostic::{Rule, Severity};

pub(crate) const RULE: Rule = Rule {
    code: "FILE_TOO_LARGE",
    severity: Severity::Error,
    why: "People review artifacts; a file over 2 MiB is not read. (The example would be too long \
          to show.)",
    bad: &[],
    good: &[],
    check: (),
};
