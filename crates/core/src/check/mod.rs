//! Stage 2: artifacts to checked artifacts and diagnostics. One file per code; [`RULES`] is the list.

pub mod facts;

use crate::diagnostic::{Diagnostic, Severity};

/// One code: what it means, why it matters, and an example of each side.
pub struct Rule {
    /// Stable code, never reused.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// Why it matters, in a sentence or two.
    pub why: &'static str,
    /// A project, as paths and texts, that yields this code and no other.
    pub bad: &'static [(&'static str, &'static str)],
    /// The same, mended: yields nothing.
    pub good: &'static [(&'static str, &'static str)],
    /// How it is found.
    pub check: Check,
}

/// When a rule looks.
pub enum Check {
    /// The reader reports it while it turns text into artifacts.
    WhileReading,
}

impl Rule {
    /// A finding of this rule.
    pub(crate) fn finding(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.code, self.severity, message)
    }
}

/// Every rule, in the order of the stages.
pub const RULES: &[&Rule] = &[];
