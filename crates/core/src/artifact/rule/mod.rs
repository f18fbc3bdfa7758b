//! The rules that the reader reports, one file for each code.

pub(crate) mod bundle_field_idle;
pub(crate) mod bundle_name_differs;
pub(crate) mod bundle_type_differs;
pub(crate) mod ceiling_twice;
pub(crate) mod domain_invalid;
pub(crate) mod event_missing;
pub(crate) mod field_missing;
pub(crate) mod field_wrong_type;
pub(crate) mod file_not_text;
pub(crate) mod file_passed_over;
pub(crate) mod file_set_aside;
pub(crate) mod file_too_large;
pub(crate) mod file_unreadable;
pub(crate) mod format_unknown;
pub(crate) mod frontmatter_missing;
pub(crate) mod frontmatter_unclosed;
pub(crate) mod inline_name_empty;
pub(crate) mod key_duplicate;
pub(crate) mod key_unknown;
pub(crate) mod mode_unread;
pub(crate) mod name_key_in_file;
pub(crate) mod not_in_effect;
pub(crate) mod parameter_type_missing;
pub(crate) mod parameter_type_unknown;
pub(crate) mod parameters_as_schema;
pub(crate) mod pattern_invalid;
pub(crate) mod root_twice;
pub(crate) mod schema_and_parameters;
pub(crate) mod script_not_indented;
pub(crate) mod timeout_negative;
pub(crate) mod yaml_invalid;
pub(crate) mod yaml_limit;
pub(crate) mod yaml_not_accepted;

// Found by `check` in a project and by `surface` in JSON; `check` lists them.
pub(crate) mod body_empty;
pub(crate) mod effects_contradict;
pub(crate) mod schema_invalid;
pub(crate) mod secret_in_artifact;
pub(crate) mod tool_duplicate;

use crate::diagnostic::Rule;

/// A tool without faults, for the examples of many rules.
pub(crate) const READ_NOTE: (&str, &str) = (
    ".harness/tools/read_note.md",
    "---\nscript: |\n  def run(args):\n      return fs.read(\"note.txt\")\n---\nReads the note.\n",
);

const NOTE_OF_THE_DAY: (&str, &str) = (
    ".harness/tools/read_note.md",
    r#"---
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
);

const NOTE_WITH_TIMEOUT: (&str, &str) = (
    ".harness/tools/read_note.md",
    r#"---
timeout_ms: 1000
script: |
  def run(args):
      return "a note"
---
Read the note of the day.
"#,
);

/// Every rule that the reader reports, in the order of the reference.
pub(crate) const RULES: &[Rule] = &[
    file_unreadable::RULE,
    file_too_large::RULE,
    file_not_text::RULE,
    file_passed_over::RULE,
    file_set_aside::RULE,
    frontmatter_missing::RULE,
    frontmatter_unclosed::RULE,
    yaml_invalid::RULE,
    yaml_limit::RULE,
    yaml_not_accepted::RULE,
    key_duplicate::RULE,
    key_unknown::RULE,
    field_wrong_type::RULE,
    field_missing::RULE,
    parameter_type_missing::RULE,
    parameter_type_unknown::RULE,
    parameters_as_schema::RULE,
    schema_and_parameters::RULE,
    script_not_indented::RULE,
    timeout_negative::RULE,
    name_key_in_file::RULE,
    inline_name_empty::RULE,
    event_missing::RULE,
    root_twice::RULE,
    format_unknown::RULE,
    ceiling_twice::RULE,
    domain_invalid::RULE,
    pattern_invalid::RULE,
    mode_unread::RULE,
    bundle_type_differs::RULE,
    bundle_name_differs::RULE,
    bundle_field_idle::RULE,
    not_in_effect::RULE,
];
