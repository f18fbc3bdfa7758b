//! Stage 2: artifacts to checked artifacts and diagnostics. `rule/` has one file for each code, and
//! [`rules`] lists the codes of every stage.

mod bundle;
pub mod checked;
mod closed;
pub mod configure;
mod page;
mod python;
mod reach;
mod resolve;
pub(crate) mod rule;
pub(crate) mod schema;
pub mod subject;

use crate::artifact::tool::Script;
use crate::artifact::{self, Artifacts, Extent, Hook, Tool};
use crate::diagnostic::Rule;
use crate::facts::FactsBySource;
use crate::facts::ScriptKind;
use crate::surface;
use closed::ClosedBuiltins;
use rule::{Check, JUDGING};
use std::collections::HashSet;
use std::sync::Arc;
use subject::{Findings, HookSubject, Owner, Project, ScriptSubject, ToolSubject, hook_scripts};

pub(crate) use bundle::condition_problem;
pub(crate) use checked::CheckedHook;
pub use checked::{CheckedProject, CheckedTool};
pub use page::{index, page};

/// When the harness can report a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// When it turns text into artifacts.
    Reading,
    /// When it checks the artifacts.
    Judging,
    /// When it evaluates the conditions of bundles, and when hooks on `artifact.load` see the
    /// artifacts.
    Loading,
    /// When `harness tools` writes the tools in a provider's format.
    Exporting,
    /// When it checks a surface: see [`crate::surface`].
    Surface,
    /// When it applies `checks` to all other findings.
    Reporting,
}

impl Phase {
    /// Every phase, in the order of the reference.
    pub const ALL: [Self; 6] = [
        Self::Reading,
        Self::Judging,
        Self::Loading,
        Self::Exporting,
        Self::Surface,
        Self::Reporting,
    ];

    /// The rules of this phase.
    #[must_use]
    pub fn rules(self) -> Vec<Rule> {
        let judging_surface = || surface::rule::JUDGING.iter().map(Rule::described);
        match self {
            Self::Reading => artifact::rule::RULES.to_vec(),
            Self::Judging => rule::JUDGING.iter().map(Rule::described).collect(),
            Self::Loading => rule::LOADING.to_vec(),
            Self::Exporting => rule::EXPORTING.to_vec(),
            Self::Surface => {
                [surface::rule::READING.to_vec(), judging_surface().collect()].concat()
            }
            Self::Reporting => rule::REPORTING.to_vec(),
        }
    }
}

/// Every rule, in the order of the phases.
pub fn rules() -> impl Iterator<Item = Rule> {
    Phase::ALL.into_iter().flat_map(Phase::rules)
}

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
    let of_agents = artifacts.agents.iter().flat_map(|agent| {
        let of_tools = agent.tools.iter().flat_map(|tool| &tool.script);
        of_tools
            .map(|script| (ScriptKind::Tool, script))
            .chain(agent.hooks.iter().flat_map(hook_scripts))
    });
    let conditions = artifacts
        .conditions
        .iter()
        .map(|script| (ScriptKind::Condition, script));
    let of_bundles = artifacts
        .bundles
        .iter()
        .filter_map(|bundle| bundle.condition.as_ref())
        .map(|script| (ScriptKind::Condition, script));
    let mut seen = HashSet::new();
    let all = of_tools
        .chain(of_hooks)
        .chain(of_agents)
        .chain(conditions)
        .chain(of_bundles)
        .map(|(kind, script): (_, &Script)| (kind, Arc::clone(&script.text)));
    all.filter(|source| seen.insert(source.clone())).collect()
}

/// Checks the artifacts. A script without facts is not checked; its calls fail for lack of a
/// worker.
#[must_use]
pub fn check(artifacts: Artifacts, facts: &FactsBySource) -> CheckedProject {
    check_as_read(artifacts, facts, Extent::Whole)
}

/// Like [`check`]; with [`Extent::Policy`] it runs only the rules that can break a hook, because no
/// report was asked for.
pub(crate) fn check_as_read(
    mut artifacts: Artifacts,
    facts: &FactsBySource,
    extent: Extent,
) -> CheckedProject {
    bundle::settle(&mut artifacts, facts);
    let read_errors = checked::ReadErrors::take(&mut artifacts);
    let resolution = resolve::resolve(&mut artifacts);
    let found = {
        let names = artifacts.tools.iter().map(|tool| tool.name.as_str());
        let broken = artifacts.broken_tools.iter().map(|tool| tool.name.as_str());
        let aliases = artifacts
            .tools
            .iter()
            .flat_map(|tool| tool.aliases.iter().map(|(_, alias)| alias.value.as_str()));
        let of_clients = artifacts
            .clients
            .iter()
            .flat_map(|map| map.tools.iter().filter_map(|tool| tool.name.as_deref()));
        // A tool of a bundle that is off here may be there elsewhere.
        let of_bundles = artifacts.bundles.iter();
        let of_bundles = of_bundles.flat_map(|bundle| bundle.tools.iter().map(String::as_str));
        // Only reports look at the rules here.
        let rules = match extent {
            Extent::Whole => crate::rule::rules(&artifacts.layers, &artifacts.root),
            Extent::Policy => Vec::new(),
        };
        let project = Project {
            bundles: &artifacts.bundles,
            closed: ClosedBuiltins::by(&rules),
            rules: &rules,
            root: &artifacts.root,
            layers: &artifacts.layers,
            tools: &artifacts.tools,
            hooks: &artifacts.hooks,
            agents: &artifacts.agents,
            clients: &artifacts.clients,
            resolution: &resolution,
            tool_names: names
                .chain(broken)
                .chain(aliases)
                .chain(of_clients)
                .chain(of_bundles)
                .collect(),
            facts,
        };
        let mut findings = Findings::new(&artifacts.tools);
        look_at_project(&project, extent, &mut findings);
        if extent == Extent::Whole {
            let tools = project.tools.iter().enumerate();
            look_at_tools(
                &project,
                tools.map(|(index, tool)| (Owner::Tool(index), tool)),
                &mut findings,
            );
            // Nothing runs agents and contexts yet, so that what is wrong in them breaks nothing.
            for agent in &artifacts.agents {
                let own = agent.tools.iter().map(|tool| (Owner::Project, tool));
                look_at_tools(&project, own, &mut findings);
                let own = agent.hooks.iter().map(|hook| (Owner::Project, hook));
                look_at_hooks(&project, own, &mut findings);
            }
            look_at_conditions(&project, &artifacts.conditions, &mut findings);
        }
        let hooks = project.hooks.iter().enumerate();
        look_at_hooks(
            &project,
            hooks.map(|(index, hook)| (Owner::Hook(index), hook)),
            &mut findings,
        );
        findings.into_found()
    };
    checked::assemble(artifacts, &read_errors, found, facts)
}

/// Runs the rules over the project as a whole. The artifacts come after, one by one, so that the
/// facts of each are looked up once.
fn look_at_project(project: &Project<'_>, extent: Extent, findings: &mut Findings<'_>) {
    for (order, rule) in JUDGING.iter().enumerate() {
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

fn look_at_tools<'a>(
    project: &'a Project<'a>,
    tools: impl Iterator<Item = (Owner, &'a Tool)>,
    findings: &mut Findings<'_>,
) {
    for (owner, tool) in tools {
        let facts = tool
            .script
            .as_ref()
            .and_then(|script| Some((script, project.facts_of(ScriptKind::Tool, script)?)));
        let subject = ToolSubject {
            project,
            tool,
            facts: facts.and_then(|(_, facts)| subject::read(facts)),
        };
        let key = tool
            .key
            .as_ref()
            .and_then(|script| Some((script, project.facts_of(ScriptKind::Tool, script)?)));
        for (order, rule) in JUDGING.iter().enumerate() {
            findings.concern(order, owner);
            match &rule.check {
                Check::Tool(look) => look(&subject, findings),
                Check::Script(look) => facts.into_iter().chain(key).for_each(|(script, facts)| {
                    look(
                        &ScriptSubject {
                            kind: ScriptKind::Tool,
                            field: ScriptKind::Tool.field(),
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

/// Runs the rules about scripts over the conditions of contexts.
fn look_at_conditions(project: &Project<'_>, conditions: &[Script], findings: &mut Findings<'_>) {
    for script in conditions {
        let Some(facts) = project.facts_of(ScriptKind::Condition, script) else {
            continue;
        };
        let subject = ScriptSubject {
            kind: ScriptKind::Condition,
            field: "when",
            script,
            facts,
        };
        for (order, rule) in JUDGING.iter().enumerate() {
            if let Check::Script(look) = &rule.check {
                findings.concern(order, Owner::Project);
                look(&subject, findings);
            }
        }
    }
}

fn look_at_hooks<'a>(
    project: &'a Project<'a>,
    hooks: impl Iterator<Item = (Owner, &'a Hook)>,
    findings: &mut Findings<'_>,
) {
    for (owner, hook) in hooks {
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
        for (order, rule) in JUDGING.iter().enumerate() {
            findings.concern(order, owner);
            match &rule.check {
                Check::Hook(look) => look(&subject, findings),
                Check::Script(look) => scripts.iter().for_each(|&(kind, script, facts)| {
                    look(
                        &ScriptSubject {
                            kind,
                            field: kind.field(),
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

#[cfg(test)]
mod tests {
    use super::rules;

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<_> = rules().map(|rule| rule.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), rules().count());
    }
}
