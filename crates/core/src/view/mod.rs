//! What one mode makes of the catalogue: its rules, the tools it offers, the built-ins its scripts
//! are linked with, its hook chains and its sandbox policy. A call holds the view of its mode.

mod chain;
pub mod export;
mod offered;
mod surface;

pub(crate) use chain::{Chain, Segment};
pub(crate) use offered::Offered;

use crate::builtin::{self, Scope};
use crate::digest;
use crate::effect::Effects;
use crate::facts::ScriptKind;
use crate::hook_event;
use crate::middleware::{Middleware, Registered};
use crate::plan::SandboxPolicy;
use crate::registry::{Catalogue, RegisteredHook, RegisteredTool};
use crate::rule::{self, Rule};
use crate::worker::script::{Script, Scripts};
use serde_json::json;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// One mode's view of the catalogue. It never changes.
#[derive(Debug)]
pub struct View {
    /// The mode's name.
    pub mode: String,
    /// The catalogue that this is a view of.
    pub(crate) catalogue: Arc<Catalogue>,
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// What calls may touch.
    pub sandbox: SandboxPolicy,
    tools: Vec<Arc<ActiveTool>>,
    hooks: Vec<Arc<ActiveHook>>,
    /// The hooks of each event with a fixed name, so that a call need not search.
    by_event: HashMap<&'static str, Arc<[Arc<ActiveHook>]>>,
    /// The chain that judges a call.
    pub(crate) pre: Chain,
    /// The chain that sees the result of a call.
    pub(crate) post: Chain,
    /// Whether a hook, loaded or broken, sees calls or results.
    pub(crate) is_hooked: bool,
    revision: OnceLock<String>,
}

/// A tool as calls of one mode see it.
#[derive(Debug)]
pub(crate) struct ActiveTool {
    registered: Arc<RegisteredTool>,
    /// The indexes of the rules that its calls can break; `None` means all rules.
    pub(crate) rules: Option<Vec<usize>>,
    /// Its script, linked with the built-ins that the mode's rules allow it.
    pub(crate) script: Option<Script>,
}

impl ActiveTool {
    /// A client's own tool: every rule judges it, and it has no script.
    pub(crate) fn of_client(registered: RegisteredTool) -> Self {
        Self {
            registered: Arc::new(registered),
            rules: None,
            script: None,
        }
    }
}

impl Deref for ActiveTool {
    type Target = RegisteredTool;

    fn deref(&self) -> &RegisteredTool {
        &self.registered
    }
}

/// A hook as calls of one mode run it.
#[derive(Debug)]
pub(crate) struct ActiveHook {
    registered: Arc<RegisteredHook>,
    pub(crate) script: Script,
    pub(crate) when: Option<Script>,
}

impl Deref for ActiveHook {
    type Target = RegisteredHook;

    fn deref(&self) -> &RegisteredHook {
        &self.registered
    }
}

impl View {
    /// The view of a mode.
    pub(crate) fn new(
        catalogue: &Arc<Catalogue>,
        mode: &str,
        middleware: &[Registered<dyn Middleware>],
        scripts: &Scripts,
    ) -> Self {
        let rules = rule::rules(&catalogue.layers, &catalogue.root);
        let tools = catalogue.all_tools();
        let tools = tools.map(|tool| Arc::new(active_tool(tool, &rules, scripts)));
        let hooks = catalogue.hooks();
        let hooks = hooks.filter_map(|hook| Some(Arc::new(active_hook(hook, scripts)?)));
        let mut view = Self {
            mode: mode.to_owned(),
            sandbox: SandboxPolicy::of(&catalogue.layers, &catalogue.root),
            tools: tools.collect(),
            hooks: hooks.collect(),
            by_event: HashMap::new(),
            pre: Chain::new(),
            post: Chain::new(),
            is_hooked: false,
            revision: OnceLock::new(),
            catalogue: Arc::clone(catalogue),
            rules,
        };
        let names = hook_event::HOOK_EVENTS.iter().map(|event| event.name);
        let names = names.filter(|name| !name.ends_with('*'));
        view.by_event = names.map(|name| (name, view.listeners(name))).collect();
        view.pre = chain::chain(&view.hooks_of("tool.pre"), middleware);
        view.post = chain::chain(&view.hooks_of("tool.post"), middleware);
        view.is_hooked = view.has_hooks("tool.pre") || view.has_hooks("tool.post");
        view
    }

    /// The policy revision: the digest of every text that governs calls in this mode. Computed on
    /// first use.
    pub(crate) fn revision(&self) -> &str {
        self.revision.get_or_init(|| {
            let catalogue = &self.catalogue;
            let layers = catalogue.layers.iter().map(|layer| &layer.root);
            let roots = layers.chain([&catalogue.root]);
            let roots = roots.filter_map(|root| Some(root.source.as_ref()?.text.to_string()));
            let hooks = catalogue.hooks();
            let hooks = hooks.map(|hook| hook.hook.origin.source.text.to_string());
            digest::of_worth(&json!([
                self.mode,
                Vec::from_iter(roots),
                Vec::from_iter(hooks)
            ]))
        })
    }

    /// The tool with that name or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Arc<ActiveTool>> {
        self.tools.get(self.catalogue.position(name)?)
    }

    /// Every hook that can run, in the order they run.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = &Arc<ActiveHook>> {
        self.hooks.iter()
    }

    /// The hooks of an event, in order.
    pub(crate) fn hooks_of(&self, event: &str) -> Arc<[Arc<ActiveHook>]> {
        self.by_event
            .get(event)
            .map_or_else(|| self.listeners(event), Arc::clone)
    }

    /// Whether an event has hooks, loaded or broken.
    pub(crate) fn has_hooks(&self, event: &str) -> bool {
        !self.hooks_of(event).is_empty() || self.catalogue.broken_for(event).is_some()
    }

    fn listeners(&self, event: &str) -> Arc<[Arc<ActiveHook>]> {
        let listening = self.hooks.iter().filter(|hook| hook.listens_to(event));
        listening.cloned().collect()
    }
}

fn active_tool(tool: &Arc<RegisteredTool>, rules: &[Rule], scripts: &Scripts) -> ActiveTool {
    let script = tool.tool.script.as_ref().map(|script| {
        let linked = linked(&tool.reaches, Scope::Tools, tool.effects, rules);
        scripts.number(ScriptKind::Tool, &script.text, linked)
    });
    let capabilities = &tool.tool.annotations.capabilities;
    ActiveTool {
        rules: Some(rule::relevant(
            rules,
            tool.name(),
            tool.effects,
            capabilities,
        )),
        script,
        registered: Arc::clone(tool),
    }
}

fn active_hook(hook: &Arc<RegisteredHook>, scripts: &Scripts) -> Option<ActiveHook> {
    let effects = Effects::READ.and(Effects::NET_READ).and(Effects::NET_WRITE);
    let linked = linked(&hook.reaches, Scope::Hooks, effects, &[]);
    let script = hook.hook.script.as_ref()?;
    let when = hook.hook.when.as_ref();
    Some(ActiveHook {
        script: scripts.number(ScriptKind::Hook, &script.text, linked.clone()),
        when: when.map(|when| scripts.number(ScriptKind::When, &when.text, linked)),
        registered: Arc::clone(hook),
    })
}

/// The built-ins that a script is linked with: those it mentions, that its side provides, within
/// its effects. No rule is about hooks. A denied built-in that the worker answers itself is left out here; any other is
/// refused, with the rule, when the worker calls it.
fn linked(reaches: &[String], side: Scope, effects: Effects, rules: &[Rule]) -> Vec<u32> {
    let mut indices: Vec<u32> = reaches
        .iter()
        .filter_map(|name| builtin::find(name))
        .filter(|(_, _, builtin)| {
            (builtin.scope == Scope::Both || builtin.scope == side)
                && effects.contains(builtin.needs())
        })
        .filter(|(_, module, builtin)| {
            builtin.is_asked_for()
                || rule::closing(rules, &builtin::full_name(module, builtin), builtin).is_none()
        })
        .map(|(index, _, _)| index)
        .collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}
