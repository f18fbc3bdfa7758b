//! What stage 2 hands to the registry.

use super::reach::{inferred, reached};
use super::rule::field_unsupported;
use super::subject::{Owner, hook_scripts};
use crate::artifact::tool::DeclaredBounds;
use crate::artifact::{
    Artifacts, BrokenHook, BrokenTool, Bundle, BundleState, ClientMap, Form, Hook, LayerFile,
    Origin, Root, Tool,
};
use crate::diagnostic::{Diagnostic, Severity};
use crate::effect::Effects;
use crate::facts::FactsBySource;
use crate::facts::{Facts, ScriptKind, Unread};
use crate::refusal::Code;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A project after every rule has checked it.
#[derive(Clone, Debug)]
pub struct CheckedProject {
    /// The root file's settings.
    pub root: Root,
    /// Whether the root file is broken, which stops everything but reports.
    pub(crate) root_broken: bool,
    /// The tools that remain after overrides, usable or not.
    pub tools: Vec<CheckedTool>,
    /// The hooks that remain after overrides; a broken one blocks.
    pub hooks: Vec<CheckedHook>,
    /// Hook files that gave no hook: each blocks every gating event.
    pub broken_hooks: Vec<BrokenHook>,
    /// Tool files that gave no tool.
    pub broken_tools: Vec<BrokenTool>,
    /// The bundles, on or off.
    pub bundles: Vec<Bundle>,
    /// How the project maps clients' own tools.
    pub clients: Vec<ClientMap>,
    /// The files of the machine and of the user, highest first.
    pub layers: Vec<LayerFile>,
    /// Everything found, by file, then by place.
    pub diagnostics: Vec<Diagnostic>,
}

/// A tool with what the checks made of it.
#[derive(Clone, Debug)]
pub struct CheckedTool {
    /// The tool.
    pub tool: Tool,
    /// What it may do: declared, or else read from its script; with its flags.
    pub effects: Effects,
    /// The built-ins its script mentions, by full name, each once.
    pub reaches: Vec<String>,
    /// Its first error. A broken tool is neither offered nor callable.
    pub broken: Option<Diagnostic>,
    /// What calls are refused with because no worker could read its script.
    pub unread: Option<Code>,
}

impl CheckedTool {
    /// Whether the tool may be offered and called.
    #[must_use]
    pub fn usable(&self) -> bool {
        self.broken.is_none()
    }
}

/// A hook with what the checks made of it.
#[derive(Clone, Debug)]
pub struct CheckedHook {
    /// The hook.
    pub hook: Hook,
    /// The built-ins its script and its `when` mention, by full name, each once.
    pub reaches: Vec<String>,
    /// Why it cannot judge: its first error, or a field that is not enforced yet. It then blocks
    /// its event.
    pub broken: Option<Diagnostic>,
}

/// Joins the reader's problems and the rules' findings, and marks the tools and hooks they break.
pub(super) fn assemble(
    artifacts: Artifacts,
    read_errors: &ReadErrors,
    found: Vec<(Owner, Diagnostic)>,
    facts: &FactsBySource,
) -> CheckedProject {
    let mut all: Vec<(Owner, Diagnostic)> = artifacts
        .problems
        .into_iter()
        .map(|problem| (Owner::Project, problem))
        .chain(found)
        .collect();
    all.sort_by_cached_key(|(_, diagnostic)| place_key(diagnostic));

    let doubtful = doubtful(&artifacts.bundles);
    let mut broken_tool: Vec<_> = artifacts
        .tools
        .iter()
        .map(|tool| {
            let of_bundle = || doubtful.get(&*tool.origin.source.path).copied();
            let own = read_errors.tools.get(&Key::of(&tool.origin));
            own.or_else(of_bundle).cloned()
        })
        .collect();
    let mut broken_hook: Vec<_> = artifacts
        .hooks
        .iter()
        .map(|hook| read_errors.hooks.get(&Key::of(&hook.origin)).cloned())
        .collect();
    for (owner, diagnostic) in &all {
        let (slot, breaks) = match *owner {
            Owner::Project => continue,
            Owner::Tool(index) => (
                &mut broken_tool[index],
                diagnostic.severity == Severity::Error,
            ),
            Owner::Hook(index) => (&mut broken_hook[index], breaks_hook(diagnostic)),
        };
        if breaks && slot.is_none() {
            *slot = Some(diagnostic.clone());
        }
    }

    let tools = artifacts.tools.into_iter().zip(broken_tool);
    let hooks = artifacts.hooks.into_iter().zip(broken_hook);
    CheckedProject {
        root: artifacts.root,
        root_broken: artifacts.root_broken,
        tools: tools
            .map(|(tool, broken)| checked_tool(tool, broken, facts))
            .collect(),
        hooks: hooks
            .map(|(hook, broken)| checked_hook(hook, broken, facts))
            .collect(),
        broken_hooks: artifacts.broken_hooks,
        broken_tools: artifacts.broken_tools,
        bundles: artifacts.bundles,
        clients: artifacts.clients,
        layers: artifacts.layers,
        diagnostics: all.into_iter().map(|(_, diagnostic)| diagnostic).collect(),
    }
}

/// Why the tools of a bundle are off, by its file.
fn doubtful(bundles: &[Bundle]) -> HashMap<&str, &Diagnostic> {
    bundles
        .iter()
        .filter_map(|bundle| match &bundle.state {
            BundleState::HooksOnly(found) => Some((&*bundle.source.path, &found.found)),
            BundleState::On | BundleState::Off => None,
        })
        .collect()
}

/// The first reading error of each tool and hook that could still be read.
pub(super) struct ReadErrors {
    tools: HashMap<Key, Diagnostic>,
    hooks: HashMap<Key, Diagnostic>,
}

impl ReadErrors {
    /// Takes the errors of tools and hooks that were read, and leaves those of files and entries
    /// that were not.
    pub(super) fn take(artifacts: &mut Artifacts) -> Self {
        let tools = artifacts.tools.iter().map(|tool| Key::of(&tool.origin));
        let hooks = artifacts.hooks.iter().map(|hook| Key::of(&hook.origin));
        Self {
            tools: take(&mut artifacts.broken_tools, &tools.collect(), |broken| {
                (Key::new(&broken.source.path, broken.form), &broken.problem)
            }),
            hooks: take(&mut artifacts.broken_hooks, &hooks.collect(), |broken| {
                (Key::new(&broken.source.path, broken.form), &broken.problem)
            }),
        }
    }
}

fn take<Broken>(
    all: &mut Vec<Broken>,
    read: &HashSet<Key>,
    parts: fn(&Broken) -> (Key, &Diagnostic),
) -> HashMap<Key, Diagnostic> {
    let mut taken = HashMap::new();
    all.retain(|broken| {
        let (key, problem) = parts(broken);
        let was_read = read.contains(&key);
        if was_read {
            taken.entry(key).or_insert_with(|| problem.clone());
        }
        !was_read
    });
    taken
}

/// Which definition: the file, and the index in its list.
#[derive(PartialEq, Eq, Hash)]
struct Key(Arc<str>, Option<usize>);

impl Key {
    fn new(path: &Arc<str>, form: Form) -> Self {
        Self(
            Arc::clone(path),
            if let Form::Inline(index) = form {
                Some(index)
            } else {
                None
            },
        )
    }

    fn of(origin: &Origin) -> Self {
        Self::new(&origin.source.path, origin.form)
    }
}

fn breaks_hook(diagnostic: &Diagnostic) -> bool {
    diagnostic.severity == Severity::Error || diagnostic.code == field_unsupported::RULE.code
}

fn place_key(diagnostic: &Diagnostic) -> Option<(Arc<str>, usize)> {
    diagnostic
        .place
        .as_ref()
        .map(|place| (Arc::clone(&place.source.path), place.span.start))
}

fn checked_tool(tool: Tool, broken: Option<Diagnostic>, facts: &FactsBySource) -> CheckedTool {
    let found = tool
        .script
        .as_ref()
        .map(|script| facts.get(&(ScriptKind::Tool, Arc::clone(&script.text))));
    let declared = DeclaredBounds::of(&tool.declared_effects);
    let (effects, reaches) = match found {
        None => (declared.effects(Some(Effects::NONE)), Vec::new()),
        Some(None | Some(Err(_))) => (declared.effects(None), Vec::new()),
        Some(Some(Ok(facts))) => (declared.effects(Some(inferred(facts))), names(facts)),
    };
    let unread = match found {
        Some(Some(Err(Unread::NoWorker { code, .. }))) => Some(*code),
        _ => None,
    };
    CheckedTool {
        tool,
        effects,
        reaches,
        broken,
        unread,
    }
}

fn checked_hook(hook: Hook, broken: Option<Diagnostic>, facts: &FactsBySource) -> CheckedHook {
    let mut reaches = Vec::new();
    for (kind, script) in hook_scripts(&hook) {
        let found = facts_of(facts, kind, &script.text)
            .map(names)
            .unwrap_or_default();
        for name in found {
            if !reaches.contains(&name) {
                reaches.push(name);
            }
        }
    }
    CheckedHook {
        hook,
        reaches,
        broken,
    }
}

fn facts_of<'a>(facts: &'a FactsBySource, kind: ScriptKind, text: &Arc<str>) -> Option<&'a Facts> {
    facts.get(&(kind, Arc::clone(text)))?.as_ref().ok()
}

fn names(facts: &Facts) -> Vec<String> {
    reached(facts)
        .map(|(named, _)| named.name.clone())
        .collect()
}
