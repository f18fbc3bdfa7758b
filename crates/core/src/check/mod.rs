//! Stage 2: artifacts to checked artifacts and diagnostics. One file per code; [`RULES`] is the list.

pub mod facts;

pub(crate) mod ceiling_twice;
pub(crate) mod event_missing;
pub(crate) mod field_missing;
pub(crate) mod field_wrong_type;
pub(crate) mod file_not_text;
pub(crate) mod file_too_large;
pub(crate) mod file_unreadable;
pub(crate) mod format_unknown;
pub(crate) mod frontmatter_missing;
pub(crate) mod frontmatter_unclosed;
pub(crate) mod inline_name_empty;
pub(crate) mod key_duplicate;
pub(crate) mod key_unknown;
pub(crate) mod name_key_in_file;
pub(crate) mod parameter_type_missing;
pub(crate) mod parameter_type_unknown;
pub(crate) mod root_twice;
pub(crate) mod schema_and_parameters;
pub(crate) mod timeout_negative;
pub(crate) mod yaml_invalid;
pub(crate) mod yaml_limit;
pub(crate) mod yaml_not_accepted;

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
pub const RULES: &[&Rule] = &[
    &file_unreadable::RULE,
    &file_too_large::RULE,
    &file_not_text::RULE,
    &frontmatter_missing::RULE,
    &frontmatter_unclosed::RULE,
    &yaml_invalid::RULE,
    &yaml_limit::RULE,
    &yaml_not_accepted::RULE,
    &key_duplicate::RULE,
    &key_unknown::RULE,
    &field_wrong_type::RULE,
    &field_missing::RULE,
    &parameter_type_missing::RULE,
    &parameter_type_unknown::RULE,
    &schema_and_parameters::RULE,
    &timeout_negative::RULE,
    &name_key_in_file::RULE,
    &inline_name_empty::RULE,
    &event_missing::RULE,
    &root_twice::RULE,
    &format_unknown::RULE,
    &ceiling_twice::RULE,
];
