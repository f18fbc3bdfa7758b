//! The rules over surfaces, one file for each code.

mod alias_collides;
mod approval_contradicts;
mod approval_pattern_no_match;
mod capabilities_exceeded;
mod confusable_names;
mod constraint_never_applies;
mod deferred_tool_prompt_reference;
mod deferred_unreachable;
mod deprecated_arg_alias;
mod hidden_text;
mod instructs_model;
mod kind_contradicts;
mod kind_unknown;
pub(super) mod malformed;
mod missing_annotations;
mod missing_executor;
mod missing_result_reader;
mod missing_schema;
mod missing_side_effect_level;
mod name_not_portable;
pub(super) mod no_active_tools;
mod no_timeout;
mod parameter_undescribed;
mod path_param_unknown;
mod pattern_no_match;
mod prompt_tool_not_in_policy;
mod required_unsaid;
mod required_without_property;
mod side_effect_ceiling_exceeded;
mod suspicious_units;
mod too_large;
mod unbalanced_marker;
mod unclosed_fence;
mod unknown_arg_constraint_key;
mod unknown_arg_constraint_tool;
mod unknown_prompt_tool;
mod unknown_result_reader;
mod unreachable;
mod unused_marker;
mod write_path_undeclared;

use super::{Findings, Subject};
use crate::diagnostic::Rule;

/// A surface without faults, for the examples of many rules.
const READ_NOTE_SURFACE: &[(&str, &str)] = &[(
    "surface.json",
    r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ]
}
"#,
)];

/// The same with a constraint on its argument.
const CONSTRAINED_SURFACE: &[(&str, &str)] = &[(
    "surface.json",
    r#"{
  "tools": [
    {
      "name": "read_note",
      "description": "Reads one note.",
      "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
      "executor": "harn",
      "annotations": {"kind": "read", "side_effect_level": "read_only"}
    }
  ],
  "policy": {"tool_arg_constraints": [{"tool": "read_note", "arg_key": "path", "arg_patterns": ["notes/**"]}]}
}
"#,
)];

/// How a rule looks at a surface.
pub(super) type Check = fn(&Subject<'_>, &mut Findings);

/// The rule of the reader of surfaces written as JSON.
pub(crate) const READING: &[Rule] = &[malformed::RULE];

/// The rules that judge a surface, in the order of the reference.
pub(crate) const JUDGING: &[Rule<Check>] = &[
    missing_result_reader::RULE,
    side_effect_ceiling_exceeded::RULE,
    missing_schema::RULE,
    missing_annotations::RULE,
    missing_side_effect_level::RULE,
    missing_executor::RULE,
    unknown_result_reader::RULE,
    unknown_arg_constraint_tool::RULE,
    unknown_arg_constraint_key::RULE,
    approval_pattern_no_match::RULE,
    unknown_prompt_tool::RULE,
    prompt_tool_not_in_policy::RULE,
    deferred_tool_prompt_reference::RULE,
    deprecated_arg_alias::RULE,
    unclosed_fence::RULE,
    unbalanced_marker::RULE,
    unused_marker::RULE,
    kind_unknown::RULE,
    kind_contradicts::RULE,
    confusable_names::RULE,
    name_not_portable::RULE,
    required_without_property::RULE,
    required_unsaid::RULE,
    path_param_unknown::RULE,
    parameter_undescribed::RULE,
    no_active_tools::RULE,
    unreachable::RULE,
    pattern_no_match::RULE,
    approval_contradicts::RULE,
    constraint_never_applies::RULE,
    write_path_undeclared::RULE,
    capabilities_exceeded::RULE,
    deferred_unreachable::RULE,
    hidden_text::RULE,
    instructs_model::RULE,
    no_timeout::RULE,
    suspicious_units::RULE,
    alias_collides::RULE,
    too_large::RULE,
];
