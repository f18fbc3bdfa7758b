//! The rules over surfaces, one file for each code. The list is [`crate::check::RULES`].

pub(crate) mod approval_pattern_no_match;
pub(crate) mod deferred_tool_prompt_reference;
pub(crate) mod deprecated_arg_alias;
pub(crate) mod kind_contradicts;
pub(crate) mod kind_unknown;
pub(crate) mod malformed;
pub(crate) mod missing_annotations;
pub(crate) mod missing_executor;
pub(crate) mod missing_result_reader;
pub(crate) mod missing_schema;
pub(crate) mod missing_side_effect_level;
pub(crate) mod prompt_tool_not_in_policy;
pub(crate) mod side_effect_ceiling_exceeded;
pub(crate) mod unbalanced_marker;
pub(crate) mod unclosed_fence;
pub(crate) mod unknown_arg_constraint_key;
pub(crate) mod unknown_arg_constraint_tool;
pub(crate) mod unknown_prompt_tool;
pub(crate) mod unknown_result_reader;
pub(crate) mod unused_marker;
