//! The rules of this stage, one file for each code.

mod agent_unknown_reference;
mod alias_clash;
mod alias_not_offered;
mod argument_not_required;
mod argument_undeclared;
pub(crate) mod artifact_blocked;
mod body_empty;
mod builtin_closed;
pub(super) mod bundle_condition_failed;
pub(super) mod bundle_dependency;
pub(super) mod bundle_off;
mod ceiling_admits_processes;
pub(super) mod checks_ineffective;
mod effects_contradict;
mod effects_overstated;
mod effects_understated;
mod env_unlisted;
pub(crate) mod export_description_long;
pub(crate) mod export_keyword;
pub(crate) mod export_name;
pub(crate) mod export_not_strict;
pub(crate) mod export_output_schema;
pub(crate) mod export_parameter_name;
pub(crate) mod export_too_many;
pub(super) mod field_unsupported;
mod hook_duplicate;
mod hook_error_is_text;
mod hook_event_idle;
mod hook_event_unknown;
mod hook_parameters_swapped;
mod hook_payload_field;
mod hook_payload_key;
mod hook_payload_unreturned;
mod hook_result_not_dict;
mod hook_result_not_text;
mod hook_return_shape;
mod hook_unknown_tool;
mod hook_when_impure;
mod hook_without_hosts;
mod hook_without_script;
mod host_unlisted;
mod inject_is_parameter;
mod name_not_offered;
mod name_style;
mod name_verb;
mod override_replaces;
mod policy_allow_builtin;
mod policy_builtin_unknown;
mod policy_name_is_builtin;
mod sandbox_widened;
mod schema_default;
mod schema_invalid;
mod schema_keyword_unknown;
mod script_arity;
mod script_crashed;
mod script_global_changed;
mod script_match_untested;
mod script_no_handle;
mod script_no_run;
mod script_number_format;
mod script_recursion;
mod script_scope;
mod script_syntax;
mod script_unavailable;
mod script_unknown_attribute;
mod script_unknown_builtin;
mod script_unknown_name;
mod script_unread;
mod secret_in_artifact;
mod timeout_unit;
mod tool_asks_nobody;
mod tool_async_waits;
mod tool_duplicate;

use super::subject::{Findings, HookSubject, Project, ScriptSubject, ToolSubject};
use crate::diagnostic::Rule;

/// What a rule looks at.
#[derive(Clone, Copy)]
pub(super) enum Check {
    /// Everything, once.
    Project(fn(&Project<'_>, &mut Findings<'_>)),
    /// Everything, once, for reports only: no call depends on what it finds.
    Report(fn(&Project<'_>, &mut Findings<'_>)),
    /// Each tool.
    Tool(fn(&ToolSubject<'_>, &mut Findings<'_>)),
    /// Each hook.
    Hook(fn(&HookSubject<'_>, &mut Findings<'_>)),
    /// Each script that a worker parsed: of tools, of hooks, and `when`.
    Script(fn(&ScriptSubject<'_>, &mut Findings<'_>)),
}

/// The rules that judge artifacts, in the order of the reference.
pub(super) const JUDGING: &[Rule<Check>] = &[
    name_not_offered::RULE,
    name_style::RULE,
    name_verb::RULE,
    alias_not_offered::RULE,
    alias_clash::RULE,
    inject_is_parameter::RULE,
    argument_not_required::RULE,
    argument_undeclared::RULE,
    tool_duplicate::RULE,
    hook_duplicate::RULE,
    override_replaces::RULE,
    body_empty::RULE,
    field_unsupported::RULE,
    sandbox_widened::RULE,
    secret_in_artifact::RULE,
    schema_default::RULE,
    schema_invalid::RULE,
    schema_keyword_unknown::RULE,
    script_syntax::RULE,
    script_crashed::RULE,
    script_unread::RULE,
    script_no_run::RULE,
    script_no_handle::RULE,
    hook_without_script::RULE,
    script_arity::RULE,
    hook_parameters_swapped::RULE,
    script_recursion::RULE,
    script_unknown_name::RULE,
    script_unknown_builtin::RULE,
    script_unknown_attribute::RULE,
    script_global_changed::RULE,
    timeout_unit::RULE,
    script_scope::RULE,
    script_unavailable::RULE,
    script_number_format::RULE,
    script_match_untested::RULE,
    env_unlisted::RULE,
    host_unlisted::RULE,
    hook_without_hosts::RULE,
    hook_event_unknown::RULE,
    hook_event_idle::RULE,
    hook_when_impure::RULE,
    hook_payload_key::RULE,
    hook_payload_field::RULE,
    hook_payload_unreturned::RULE,
    hook_result_not_text::RULE,
    hook_result_not_dict::RULE,
    hook_error_is_text::RULE,
    hook_return_shape::RULE,
    hook_unknown_tool::RULE,
    effects_contradict::RULE,
    effects_understated::RULE,
    effects_overstated::RULE,
    ceiling_admits_processes::RULE,
    policy_allow_builtin::RULE,
    policy_name_is_builtin::RULE,
    policy_builtin_unknown::RULE,
    builtin_closed::RULE,
    tool_asks_nobody::RULE,
    tool_async_waits::RULE,
    bundle_condition_failed::RULE,
    bundle_dependency::RULE,
    agent_unknown_reference::RULE,
];

/// The rules of what runs while a project is loaded: hooks on `artifact.load`, and conditions.
pub(super) const LOADING: &[Rule] = &[artifact_blocked::RULE, bundle_off::RULE];

/// The rules of `harness tools`, which writes the tools in a provider's format.
pub(super) const EXPORTING: &[Rule] = &[
    export_name::RULE,
    export_too_many::RULE,
    export_parameter_name::RULE,
    export_description_long::RULE,
    export_keyword::RULE,
    export_not_strict::RULE,
    export_output_schema::RULE,
];

/// The rule about `checks`, which is applied to all other findings.
pub(super) const REPORTING: &[Rule] = &[checks_ineffective::RULE];
