//! Stage 2: artifacts to checked artifacts and diagnostics. One file per code; [`RULES`] is the list.

pub mod checked;
pub mod configure;
pub(crate) mod locate;
mod page;
mod reach;
mod resolve;
pub(crate) mod schema;
pub mod subject;

// Found while reading.
pub(crate) mod artifact_blocked;
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
pub(crate) mod parameter_type_missing;
pub(crate) mod parameter_type_unknown;
pub(crate) mod pattern_invalid;
pub(crate) mod root_twice;
pub(crate) mod schema_and_parameters;
pub(crate) mod timeout_negative;
pub(crate) mod yaml_invalid;
pub(crate) mod yaml_limit;
pub(crate) mod yaml_not_accepted;

// Found when a surface is written for a provider.
pub(crate) mod export_description_long;
pub(crate) mod export_keyword;
pub(crate) mod export_name;
pub(crate) mod export_not_strict;
pub(crate) mod export_output_schema;
pub(crate) mod export_parameter_name;
pub(crate) mod export_too_many;

// Found when the artifacts are judged.
mod alias_clash;
mod alias_not_offered;
mod argument_not_required;
pub(crate) mod body_empty;
mod ceiling_admits_processes;
mod checks_ineffective;
pub(crate) mod effects_contradict;
mod effects_overstated;
mod effects_understated;
mod field_unsupported;
mod hook_duplicate;
mod hook_event_idle;
mod hook_event_unknown;
mod hook_parameters_swapped;
mod hook_payload_key;
mod hook_return_shape;
mod hook_unknown_tool;
mod hook_when_impure;
mod hook_without_hosts;
mod host_unlisted;
mod inject_is_parameter;
pub(crate) mod name_not_offered;
mod name_style;
mod name_verb;
mod override_replaces;
mod sandbox_widened;
mod schema_default;
pub(crate) mod schema_invalid;
mod schema_keyword_unknown;
mod script_arity;
mod script_crashed;
mod script_no_handle;
mod script_no_run;
mod script_recursion;
mod script_scope;
mod script_syntax;
mod script_unavailable;
mod script_unknown_builtin;
mod script_unknown_name;
mod script_unread;
pub(crate) mod secret_in_artifact;
pub(crate) mod tool_duplicate;

use crate::artifact::tool::Script;
use crate::artifact::{Artifacts, Extent};
use crate::diagnostic::{Diagnostic, Severity};
use crate::facts::FactsBySource;
use crate::facts::ScriptKind;
use crate::surface;
use std::collections::HashSet;
use std::sync::Arc;
use subject::{Findings, HookSubject, Owner, Project, ScriptSubject, ToolSubject, hook_scripts};

pub use checked::{Checked, CheckedHook, CheckedTool};
pub use page::{index, page};

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

/// When a rule looks, and at what.
pub enum Check {
    /// The reader reports it while it turns text into artifacts.
    WhileReading,
    /// A hook on `artifact.load` reports it when the project is loaded.
    WhileLoading,
    /// `harness tools` reports it when it writes the tools in a provider's format.
    WhileExporting,
    /// At everything, once.
    Project(fn(&Project<'_>, &mut Findings<'_>)),
    /// The same, for reports: no call depends on what it finds.
    Report(fn(&Project<'_>, &mut Findings<'_>)),
    /// At each tool.
    Tool(fn(&ToolSubject<'_>, &mut Findings<'_>)),
    /// At each hook.
    Hook(fn(&HookSubject<'_>, &mut Findings<'_>)),
    /// At each script that a worker looked at: of tools, of hooks, and `when`.
    Script(fn(&ScriptSubject<'_>, &mut Findings<'_>)),
    /// At the tools active somewhere, with policy and prompts: see [`crate::surface`].
    Surface(fn(&surface::Subject<'_>, &mut surface::Findings)),
    /// The reader of surfaces given as JSON reports it.
    WhileReadingSurface,
    /// Found when `checks` is applied to everything else that was found.
    WhileReporting,
}

impl Rule {
    /// A finding of this rule.
    pub(crate) fn finding(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self.code, self.severity, message)
    }
}

/// Every rule, in the order of the stages.
pub const RULES: &[&Rule] = &[
    // Found while reading.
    &file_unreadable::RULE,
    &file_too_large::RULE,
    &file_not_text::RULE,
    &file_passed_over::RULE,
    &file_set_aside::RULE,
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
    &domain_invalid::RULE,
    &pattern_invalid::RULE,
    &mode_unread::RULE,
    // Found when the artifacts are judged.
    &name_not_offered::RULE,
    &name_style::RULE,
    &name_verb::RULE,
    &alias_not_offered::RULE,
    &alias_clash::RULE,
    &inject_is_parameter::RULE,
    &argument_not_required::RULE,
    &tool_duplicate::RULE,
    &hook_duplicate::RULE,
    &override_replaces::RULE,
    &body_empty::RULE,
    &field_unsupported::RULE,
    &sandbox_widened::RULE,
    &secret_in_artifact::RULE,
    &schema_default::RULE,
    &schema_invalid::RULE,
    &schema_keyword_unknown::RULE,
    &script_syntax::RULE,
    &script_crashed::RULE,
    &script_unread::RULE,
    &script_no_run::RULE,
    &script_no_handle::RULE,
    &script_arity::RULE,
    &hook_parameters_swapped::RULE,
    &script_recursion::RULE,
    &script_unknown_name::RULE,
    &script_unknown_builtin::RULE,
    &script_scope::RULE,
    &script_unavailable::RULE,
    &host_unlisted::RULE,
    &hook_without_hosts::RULE,
    &hook_event_unknown::RULE,
    &hook_event_idle::RULE,
    &hook_when_impure::RULE,
    &hook_payload_key::RULE,
    &hook_return_shape::RULE,
    &hook_unknown_tool::RULE,
    &effects_contradict::RULE,
    &effects_understated::RULE,
    &effects_overstated::RULE,
    &ceiling_admits_processes::RULE,
    // Found when policy looks at the artifacts.
    &artifact_blocked::RULE,
    // Found when a surface is written for a provider.
    &export_name::RULE,
    &export_too_many::RULE,
    &export_parameter_name::RULE,
    &export_description_long::RULE,
    &export_keyword::RULE,
    &export_not_strict::RULE,
    &export_output_schema::RULE,
    // Found when a surface is checked.
    &surface::rule::malformed::RULE,
    &surface::rule::missing_result_reader::RULE,
    &surface::rule::side_effect_ceiling_exceeded::RULE,
    &surface::rule::missing_schema::RULE,
    &surface::rule::missing_annotations::RULE,
    &surface::rule::missing_side_effect_level::RULE,
    &surface::rule::missing_executor::RULE,
    &surface::rule::unknown_result_reader::RULE,
    &surface::rule::unknown_arg_constraint_tool::RULE,
    &surface::rule::unknown_arg_constraint_key::RULE,
    &surface::rule::approval_pattern_no_match::RULE,
    &surface::rule::unknown_prompt_tool::RULE,
    &surface::rule::prompt_tool_not_in_policy::RULE,
    &surface::rule::deferred_tool_prompt_reference::RULE,
    &surface::rule::deprecated_arg_alias::RULE,
    &surface::rule::unclosed_fence::RULE,
    &surface::rule::unbalanced_marker::RULE,
    &surface::rule::unused_marker::RULE,
    &surface::rule::kind_unknown::RULE,
    &surface::rule::kind_contradicts::RULE,
    &surface::rule::confusable_names::RULE,
    &surface::rule::name_not_portable::RULE,
    &surface::rule::required_without_property::RULE,
    &surface::rule::required_unsaid::RULE,
    &surface::rule::path_param_unknown::RULE,
    &surface::rule::parameter_undescribed::RULE,
    &surface::rule::no_active_tools::RULE,
    &surface::rule::unreachable::RULE,
    &surface::rule::pattern_no_match::RULE,
    &surface::rule::approval_contradicts::RULE,
    &surface::rule::constraint_never_applies::RULE,
    &surface::rule::write_path_undeclared::RULE,
    &surface::rule::capabilities_exceeded::RULE,
    &surface::rule::deferred_unreachable::RULE,
    &surface::rule::hidden_text::RULE,
    &surface::rule::instructs_model::RULE,
    &surface::rule::no_timeout::RULE,
    &surface::rule::suspicious_units::RULE,
    &surface::rule::alias_collides::RULE,
    &surface::rule::too_large::RULE,
    // Found when the project says what counts.
    &checks_ineffective::RULE,
];

/// Every distinct source that workers must look at before [`check`].
#[must_use]
pub fn scripts(artifacts: &Artifacts) -> Vec<(ScriptKind, Arc<str>)> {
    let of_tools = artifacts.tools.iter().flat_map(|tool| {
        tool.script
            .iter()
            .chain(&tool.key)
            .map(|script| (ScriptKind::Tool, script))
    });
    let of_hooks = artifacts.hooks.iter().flat_map(hook_scripts);
    let mut seen = HashSet::new();
    let all = of_tools
        .chain(of_hooks)
        .map(|(kind, script): (_, &Script)| (kind, Arc::clone(&script.text)));
    all.filter(|source| seen.insert(source.clone())).collect()
}

/// Judges what was read. A script without facts is not judged; calls of it end where there is no worker to run it.
#[must_use]
pub fn check(artifacts: Artifacts, facts: &FactsBySource) -> Checked {
    check_as_read(artifacts, facts, Extent::Whole)
}

/// The same of what may be policy only: then only what can break a hook is looked for. The rest is for a report that nobody asked for.
pub(crate) fn check_as_read(
    mut artifacts: Artifacts,
    facts: &FactsBySource,
    extent: Extent,
) -> Checked {
    let read_errors = checked::ReadErrors::take(&mut artifacts);
    let Artifacts {
        root,
        root_broken,
        tools,
        hooks,
        broken_hooks,
        broken_tools,
        clients,
        layers,
        problems,
    } = artifacts;
    let (tools, hooks, resolution) = resolve::resolve(tools, hooks, &broken_tools);
    let found = {
        let names = tools
            .iter()
            .map(|tool| tool.name.as_str())
            .chain(broken_tools.iter().map(|tool| tool.name.as_str()));
        let aliases = tools
            .iter()
            .flat_map(|tool| tool.aliases.iter().map(|(_, alias)| alias.value.as_str()));
        let of_clients = clients
            .iter()
            .flat_map(|map| map.tools.iter().filter_map(|tool| tool.name.as_deref()));
        let tool_names = names.chain(aliases).chain(of_clients).collect();
        let project = Project {
            root: &root,
            tools: &tools,
            hooks: &hooks,
            clients: &clients,
            resolution: &resolution,
            tool_names,
            facts,
        };
        let mut findings = Findings::new(&tools);
        look_at_project(&project, extent, &mut findings);
        if extent == Extent::Whole {
            look_at_tools(&project, &mut findings);
        }
        look_at_hooks(&project, &mut findings);
        findings.into_found()
    };
    let parts = checked::Parts {
        root,
        root_broken,
        tools,
        hooks,
        broken_hooks,
        broken_tools,
        clients,
        layers,
        problems,
        read_errors,
    };
    checked::assemble(parts, found, facts)
}

/// Shows every rule what it wants to see: the project as a whole, then one artifact after the other, so that each is looked at while it is
/// at hand and its facts are looked up once.
fn look_at_project(project: &Project<'_>, extent: Extent, findings: &mut Findings<'_>) {
    for (order, rule) in RULES.iter().enumerate() {
        match rule.check {
            Check::Report(_) if extent == Extent::Policy => {}
            Check::Project(look) | Check::Report(look) => {
                findings.concern(order, Owner::Project);
                look(project, findings);
            }
            _ => {}
        }
    }
}

fn look_at_tools(project: &Project<'_>, findings: &mut Findings<'_>) {
    for (index, tool) in project.tools.iter().enumerate() {
        let facts = tool
            .script
            .as_ref()
            .and_then(|script| Some((script, project.facts_of(ScriptKind::Tool, script)?)));
        let subject = ToolSubject {
            tool,
            facts: facts.and_then(|(_, facts)| subject::read(facts)),
        };
        let key = tool
            .key
            .as_ref()
            .and_then(|script| Some((script, project.facts_of(ScriptKind::Tool, script)?)));
        for (order, rule) in RULES.iter().enumerate() {
            findings.concern(order, Owner::Tool(index));
            match &rule.check {
                Check::Tool(look) => look(&subject, findings),
                Check::Script(look) => facts.into_iter().chain(key).for_each(|(script, facts)| {
                    look(
                        &ScriptSubject {
                            kind: ScriptKind::Tool,
                            script,
                            facts,
                        },
                        findings,
                    )
                }),
                _ => {}
            }
        }
    }
}

fn look_at_hooks(project: &Project<'_>, findings: &mut Findings<'_>) {
    for (index, hook) in project.hooks.iter().enumerate() {
        let scripts: Vec<_> = hook_scripts(hook)
            .filter_map(|(kind, script)| Some((kind, script, project.facts_of(kind, script)?)))
            .collect();
        let read = scripts
            .iter()
            .filter_map(|&(_, script, facts)| Some((script, subject::read(facts)?)));
        let subject = HookSubject {
            project,
            hook,
            scripts: read.collect(),
        };
        for (order, rule) in RULES.iter().enumerate() {
            findings.concern(order, Owner::Hook(index));
            match &rule.check {
                Check::Hook(look) => look(&subject, findings),
                Check::Script(look) => scripts.iter().for_each(|&(kind, script, facts)| {
                    look(
                        &ScriptSubject {
                            kind,
                            script,
                            facts,
                        },
                        findings,
                    )
                }),
                _ => {}
            }
        }
    }
}
