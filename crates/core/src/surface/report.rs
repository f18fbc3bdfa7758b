//! The result of a check.

use super::Findings;
use crate::diagnostic::{Diagnostic, Severity};
use serde_json::{Value, json};

/// All findings, the worst first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Errors first; among equals in the order of the rules.
    pub diagnostics: Vec<Diagnostic>,
}

impl Report {
    pub(super) fn new(findings: Findings) -> Self {
        let mut diagnostics = findings.into_found();
        diagnostics.sort_by_key(|found| std::cmp::Reverse(found.severity));
        Self { diagnostics }
    }

    /// Whether there is no error.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.diagnostics
            .iter()
            .all(|found| found.severity != Severity::Error)
    }

    /// The form reports use.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let diagnostics: Vec<Value> = self.diagnostics.iter().map(Diagnostic::to_json).collect();
        json!({"valid": self.is_valid(), "diagnostics": diagnostics})
    }
}
