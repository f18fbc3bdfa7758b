//! Stage 3: an immutable snapshot of what is loaded, and the surface for a mode.

pub mod export;
mod hints;
mod offered;
mod reader;

pub use hints::Hints;
pub use offered::{Offered, OfferedTool};

use crate::artifact::tool::{Limits, RetryPolicy};
use crate::artifact::{BrokenHook, BrokenTool, ClientMap, Hook, Layer, LayerFile, Root, Tool};
use crate::builtin::{self, Scope};
use crate::check::{Checked, CheckedHook, CheckedTool};
use crate::client::Foreign;
use crate::diagnostic::{Diagnostic, Severity};
use crate::effect::Effects;
use crate::facts::ScriptKind;
use crate::hook_event;
use crate::host::Host;
use crate::id::ToolName;
use crate::middleware::{Known, Middleware};
use crate::plan::{Confines, narrowed};
use crate::redact::RedactionPatterns;
use crate::refusal::Code;
use crate::rule::{self, Rule};
use crate::schema::CompiledSchema;
use crate::slots::Slots;
use crate::span::Spanned;
use crate::tool::{AnyTool, Idempotency, Runs};
use crate::worker::script::{Script, Scripts};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// Everything loaded from one project at one time.
#[derive(Debug)]
pub struct Registry {
    /// The root file's settings.
    pub root: Root,
    /// The files of the machine and of the user, highest first.
    pub layers: Vec<LayerFile>,
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// What all layers together let calls touch.
    pub confines: Confines,
    /// Everything wrong with the project, in file order.
    pub diagnostics: Vec<Diagnostic>,
    /// What the project says about clients' own tools.
    pub clients: Vec<ClientMap>,
    /// The first error of a broken root file, or of one above it: nothing may be called.
    pub stopped: Option<Diagnostic>,
    tools: Vec<Arc<RegisteredTool>>,
    /// The harness's own tool, which is offered like those of the project and is none of them.
    reader: Option<Arc<RegisteredTool>>,
    by_name: foldhash::HashMap<String, usize>,
    broken_tools: Vec<BrokenTool>,
    hooks: Vec<Arc<RegisteredHook>>,
    broken_hooks: Vec<BrokenHook>,
    /// The hooks of each event that is known by its full name, so that a call does not look at all of them.
    by_event: HashMap<&'static str, Arc<[Arc<RegisteredHook>]>>,
    middleware: Vec<Known<dyn Middleware>>,
    /// Who judges a call, in order.
    pub(crate) pre: Chain,
    /// Who sees its result, in order.
    pub(crate) post: Chain,
    /// Whether hooks see calls or results, or would.
    pub(crate) is_hooked: bool,
}

/// Hooks and middleware of one event, by priority. Hooks that follow each other are asked together.
pub(crate) type Chain = Vec<Segment>;

/// A part of a chain.
pub(crate) enum Segment {
    /// These hooks, in one round trip where they do not decide anything.
    Hooks(Vec<Arc<RegisteredHook>>),
    /// A middleware of the host.
    Middleware(Known<dyn Middleware>),
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hooks(hooks) => f.debug_tuple("Hooks").field(&hooks.len()).finish(),
            Self::Middleware(middleware) => {
                f.debug_tuple("Middleware").field(&middleware.name).finish()
            }
        }
    }
}

/// A tool that passed the reader, with what the path needs.
#[derive(Debug)]
pub struct RegisteredTool {
    /// As its author wrote it.
    pub tool: Tool,
    /// What it can do.
    pub effects: Effects,
    /// Why it is not offered; absent when it is.
    pub unusable: Option<Diagnostic>,
    /// What calls are refused with because no worker could read its script.
    pub(crate) unread: Option<Code>,
    /// Its limits, the project's filled in.
    pub limits: Limits,
    /// What is taken out of its results, beside what is taken out of all; nothing unless it says so.
    pub(crate) redaction: Option<Arc<RedactionPatterns>>,
    pub(crate) script: Option<Script>,
    pub(crate) body: Option<Arc<dyn AnyTool>>,
    pub(crate) at_once: Option<Arc<Slots>>,
    /// Where its body runs.
    pub(crate) runs: Runs,
    /// Arguments whose values are at work once at a time.
    pub(crate) serial: Vec<String>,
    /// What makes two calls the same.
    pub(crate) key: Option<Key>,
    /// The rules that its calls can break; absent where nobody looked.
    pub(crate) rules: Option<Vec<usize>>,
    /// Whose the whole definition is.
    defined: Defined,
    canonical: ToolName,
    /// Whose tool it is, when a client runs it itself.
    pub(crate) foreign: Option<Foreign>,
    input: OnceLock<Result<CompiledSchema, String>>,
    output: OnceLock<Result<CompiledSchema, String>>,
}

/// What makes two calls of a tool the same.
#[derive(Debug)]
pub(crate) enum Key {
    /// The values of these arguments.
    By(Vec<String>),
    /// What this script says.
    Script(Script),
}

/// Who defined a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defined {
    /// A file, or a client.
    ByFile,
    /// The host, in Rust.
    ByHost,
}

/// A hook that can run.
#[derive(Debug)]
pub struct RegisteredHook {
    /// As its author wrote it.
    pub hook: Hook,
    /// The event, or a pattern ending in `*`.
    pub event: String,
    pub(crate) script: Script,
    pub(crate) when: Option<Script>,
}

impl RegisteredTool {
    /// A tool that a client runs itself. How much of its result a model reads is the client's business.
    pub(crate) fn foreign(foreign: Foreign) -> Self {
        let entry = foreign.entry();
        let tool = Tool::of_client(
            foreign.client(),
            foreign.name(),
            entry.paths.clone(),
            entry.tags.clone(),
        );
        let limits = Limits {
            max_output_bytes: Some(u64::MAX),
            ..Limits::default()
        };
        let plain = Self::plain(tool, entry.effects, limits);
        Self {
            foreign: Some(foreign),
            ..plain
        }
    }

    /// A tool that can be called, and has nothing but what every tool has.
    fn plain(tool: Tool, effects: Effects, limits: Limits) -> Self {
        Self {
            canonical: tool.name.as_str().into(),
            tool,
            effects,
            limits,
            unusable: None,
            unread: None,
            redaction: None,
            script: None,
            body: None,
            at_once: None,
            runs: Runs::Inline,
            serial: Vec::new(),
            key: None,
            rules: None,
            defined: Defined::ByFile,
            foreign: None,
            input: OnceLock::new(),
            output: OnceLock::new(),
        }
    }

    /// The compiled schema of the arguments.
    pub(crate) fn input(&self) -> Result<&CompiledSchema, &str> {
        self.input
            .get_or_init(|| CompiledSchema::new(self.tool.input_schema.clone()))
            .as_ref()
            .map_err(String::as_str)
    }

    /// The compiled schema of the result, when there is one.
    pub(crate) fn output(&self) -> Option<Result<&CompiledSchema, &str>> {
        let schema = self.tool.output_schema.as_ref()?;
        Some(
            self.output
                .get_or_init(|| CompiledSchema::new(schema.value.clone()))
                .as_ref()
                .map_err(String::as_str),
        )
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.tool.name
    }

    /// The tool's name, to be kept.
    pub(crate) fn canonical(&self) -> &ToolName {
        &self.canonical
    }

    /// Whether the tool as a whole is the host's, in Rust.
    pub(crate) fn is_host(&self) -> bool {
        self.defined == Defined::ByHost
    }

    /// How often a call is tried again: only where a repeat does no harm.
    pub(crate) fn retries(&self) -> Option<RetryPolicy> {
        let retry = self
            .tool
            .retry
            .as_ref()
            .filter(|retry| retry.value.max_attempts > 1)?;
        (self.tool.idempotent || hints::hints(self).idempotent).then_some(retry.value)
    }

    /// The name that whoever called it knows: the client's own for a tool that a client runs itself.
    pub(crate) fn called(&self) -> &str {
        self.foreign.as_ref().map_or(self.name(), Foreign::native)
    }

    /// The file it is defined in.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.tool.origin.source.path
    }

    /// What `artifact.load` hooks see of it.
    pub(crate) fn load_payload(&self) -> Map<String, Value> {
        let effects = self.effects.names().collect();
        let script = self.tool.script.as_ref().map(|script| &*script.text);
        load_payload(
            ["tool", self.name(), self.path()],
            &self.tool.frontmatter,
            script,
            &self.tool.description,
            &self.tool.tags,
            effects,
        )
    }
}

fn load_payload(
    [kind, name, path]: [&str; 3],
    frontmatter: &Value,
    script: Option<&str>,
    body: &str,
    tags: &[String],
    effects: Vec<&str>,
) -> Map<String, Value> {
    let mut payload = Map::new();
    payload.insert("kind".into(), kind.into());
    payload.insert("name".into(), name.into());
    payload.insert("path".into(), path.into());
    payload.insert("frontmatter".into(), frontmatter.clone());
    payload.insert("script".into(), script.map_or(Value::Null, Value::from));
    payload.insert("body".into(), body.into());
    payload.insert("tags".into(), tags.to_vec().into());
    payload.insert("effects".into(), effects.into());
    payload
}

impl RegisteredHook {
    /// What `artifact.load` hooks see of it.
    pub(crate) fn load_payload(&self) -> Map<String, Value> {
        let (hook, script) = (
            &self.hook,
            self.hook.script.as_ref().map(|script| &*script.text),
        );
        load_payload(
            ["hook", &hook.name, &hook.origin.source.path],
            &hook.frontmatter,
            script,
            &hook.body,
            &hook.tags,
            Vec::new(),
        )
    }

    fn listens_to(&self, event: &str) -> bool {
        self.event == event
            || self
                .event
                .strip_suffix('*')
                .is_some_and(|prefix| event.starts_with(prefix))
    }
}

impl Registry {
    /// Builds the snapshot of a checked project.
    pub(crate) fn new(checked: Checked, host: &Host, scripts: &Scripts) -> Self {
        let Checked {
            root,
            root_broken,
            tools,
            hooks,
            broken_hooks,
            broken_tools,
            clients,
            layers,
            diagnostics,
        } = checked;
        let is_root = |diagnostic: &&Diagnostic| {
            let path = diagnostic
                .place
                .as_ref()
                .map_or("", |place| &place.source.path);
            diagnostic.severity == Severity::Error
                && ["harness.md", "harness.yaml", "harness.yml"].contains(&path)
        };
        let broken = || Diagnostic::new("YAML_INVALID", Severity::Error, "the root file is broken");
        let of_project = root_broken.then(|| {
            diagnostics
                .iter()
                .find(is_root)
                .cloned()
                .unwrap_or_else(broken)
        });
        let stopped = layers
            .iter()
            .find_map(|layer| layer.broken.clone())
            .or(of_project);
        let mut registry = Self {
            rules: rule::rules(&layers, &root),
            confines: Confines::of(&layers, &root),
            diagnostics,
            clients,
            stopped,
            tools: Vec::with_capacity(tools.len()),
            reader: None,
            by_name: foldhash::HashMap::default(),
            broken_tools,
            hooks: Vec::new(),
            broken_hooks,
            by_event: HashMap::new(),
            middleware: host.middleware.clone(),
            pre: Chain::new(),
            post: Chain::new(),
            is_hooked: false,
            layers,
            root,
        };
        for tool in tools {
            registry.add_tool(tool, host, scripts);
        }
        for hook in hooks {
            registry.add_hook(hook, scripts);
        }
        registry.hooks.sort_by(|a, b| {
            let key = |hook: &RegisteredHook| {
                (
                    hook.hook.priority,
                    Arc::clone(&hook.hook.origin.source.path),
                )
            };
            key(a).cmp(&key(b))
        });
        registry.sort_by_event();
        registry
    }

    /// The same snapshot, whose tools share their places for calls at once with those of the version before: calls in flight there count here.
    pub(crate) fn counting_with(mut self, before: &Self) -> Self {
        for tool in self.tools.iter_mut().filter_map(Arc::get_mut) {
            if let Some(old) = before.find(&tool.tool.name)
                && old.limits.max_concurrency == tool.limits.max_concurrency
            {
                tool.at_once = old.at_once.clone();
            }
        }
        self
    }

    fn sort_by_event(&mut self) {
        let names = hook_event::HOOK_EVENTS
            .iter()
            .map(|event| event.name)
            .filter(|name| !name.ends_with('*'));
        self.by_event = names.map(|name| (name, self.listeners(name))).collect();
        (self.pre, self.post) = (self.chain("tool.pre"), self.chain("tool.post"));
        self.is_hooked = self.has_hooks("tool.pre") || self.has_hooks("tool.post");
    }

    /// Hooks and middleware of an event as one chain. Of equal priority, the host's own come first.
    fn chain(&self, event: &str) -> Chain {
        let mut chain = Chain::new();
        let mut middleware = self.middleware.iter().peekable();
        for hook in &*self.hooks_of(event) {
            while let Some(first) = middleware.next_if(|one| one.priority <= hook.hook.priority) {
                chain.push(Segment::Middleware(first.clone()));
            }
            match chain.last_mut() {
                Some(Segment::Hooks(hooks)) => hooks.push(Arc::clone(hook)),
                _ => chain.push(Segment::Hooks(vec![Arc::clone(hook)])),
            }
        }
        chain.extend(middleware.cloned().map(Segment::Middleware));
        chain
    }

    fn listeners(&self, event: &str) -> Arc<[Arc<RegisteredHook>]> {
        self.hooks
            .iter()
            .filter(|hook| hook.listens_to(event))
            .cloned()
            .collect()
    }

    fn add_tool(&mut self, checked: CheckedTool, host: &Host, scripts: &Scripts) {
        let CheckedTool {
            tool,
            effects,
            reaches,
            broken: unusable,
            unread,
        } = checked;
        let script = tool.script.as_ref().map(|script| {
            let linked = linked(&reaches, Scope::Tools, effects, &self.rules);
            scripts.number(ScriptKind::Tool, &script.text, linked)
        });
        let limits = narrowed(tool.limits, self.confines.limits);
        let at_once = limits
            .max_concurrency
            .map(|most| Slots::new(usize::try_from(most).unwrap_or(usize::MAX)));
        let index = self.tools.len();
        let offered = unusable.is_none();
        for (_, alias) in tool.aliases.iter().filter(|_| offered) {
            self.by_name.entry(alias.value.clone()).or_insert(index);
        }
        if offered || !self.by_name.contains_key(&tool.name) {
            self.by_name.insert(tool.name.clone(), index);
        }
        let of_host = host.tools.get(&tool.name);
        let body = match (&tool.script, of_host) {
            (Some(_), _) => None,
            (None, Some(of_host)) => Some(Arc::clone(&of_host.body)),
            (None, None) => host.bodies.get(&tool.name).cloned(),
        };
        let by_script = tool
            .key
            .as_ref()
            .map(|script| Key::Script(scripts.number(ScriptKind::Tool, &script.text, Vec::new())));
        let key = match of_host.map(|of_host| &of_host.spec.idempotency) {
            Some(Idempotency::By(arguments)) => Some(Key::By(arguments.clone())),
            _ => by_script,
        };
        self.tools.push(Arc::new(RegisteredTool {
            effects,
            unusable,
            unread,
            limits,
            script,
            body,
            at_once,
            runs: of_host.map_or(Runs::Inline, |of_host| of_host.spec.runs),
            serial: of_host
                .map(|of_host| of_host.spec.serial_by.clone())
                .unwrap_or_default(),
            key,
            rules: Some(rule::relevant(
                &self.rules,
                &tool.name,
                effects,
                &tool.annotations.capabilities,
            )),
            defined: if of_host.is_some() {
                Defined::ByHost
            } else {
                Defined::ByFile
            },
            canonical: tool.name.as_str().into(),
            redaction: (!tool.redact.is_empty()).then(|| Arc::new(patterns(&tool.redact))),
            foreign: None,
            input: OnceLock::new(),
            output: OnceLock::new(),
            tool,
        }));
    }

    fn add_hook(&mut self, checked: CheckedHook, scripts: &Scripts) {
        let CheckedHook {
            hook,
            reaches,
            broken,
        } = checked;
        // An event nobody knows cannot be told from one that was meant to guard something.
        let event = hook
            .event
            .as_ref()
            .map(|event| event.value.clone())
            .filter(|event| hook_event::find(event).is_some());
        match (broken, &event, &hook.script) {
            (None, Some(event), Some(script)) => {
                let linked = linked(
                    &reaches,
                    Scope::Hooks,
                    Effects::READ.and(Effects::NET_READ).and(Effects::NET_WRITE),
                    &self.rules,
                );
                let script = scripts.number(ScriptKind::Hook, &script.text, linked.clone());
                let when = hook
                    .when
                    .as_ref()
                    .map(|when| scripts.number(ScriptKind::When, &when.text, linked));
                self.hooks.push(Arc::new(RegisteredHook {
                    event: event.clone(),
                    script,
                    when,
                    hook,
                }));
            }
            (broken, _, _) => {
                // What an override replaced is gone, so a broken one guards everything.
                let event = event.filter(|_| hook.origin.layer != Layer::Override);
                let problem = broken.unwrap_or_else(|| {
                    let place = hook.place(crate::span::Span::default());
                    Diagnostic::new(
                        "SCRIPT_NO_HANDLE",
                        Severity::Error,
                        "the hook has no script",
                    )
                    .at(place)
                });
                self.broken_hooks.push(BrokenHook {
                    name: hook.name.clone(),
                    event,
                    source: Arc::clone(&hook.origin.source),
                    form: hook.origin.form,
                    problem,
                });
            }
        }
    }

    /// Every tool that was read, usable or not, in the order of layers and paths.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.tools.iter()
    }

    /// Every tool of the project, and the harness's own where policy leaves it active.
    pub(crate) fn all_tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.tools
            .iter()
            .chain(self.reader.iter().filter(|reader| self.is_offered(reader)))
    }

    /// Every hook that can run, in the order they run.
    pub fn hooks(&self) -> impl Iterator<Item = &Arc<RegisteredHook>> {
        self.hooks.iter()
    }

    /// Hooks that could not be loaded.
    #[must_use]
    pub fn broken_hooks(&self) -> &[BrokenHook] {
        &self.broken_hooks
    }

    /// Tool files that gave no tool.
    #[must_use]
    pub fn broken_tools(&self) -> &[BrokenTool] {
        &self.broken_tools
    }

    /// The tool of that name or alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        let own = || self.reader.as_ref().filter(|reader| reader.name() == name);
        self.by_name
            .get(name)
            .and_then(|index| self.tools.get(*index))
            .or_else(own)
    }

    /// What the project and the layers above it want taken out of whatever leaves.
    pub(crate) fn redaction(&self) -> RedactionPatterns {
        patterns(
            self.layers
                .iter()
                .map(|layer| &layer.root)
                .chain([&self.root])
                .flat_map(|root| &root.redaction),
        )
    }

    /// The tool file of that name that gave no tool.
    #[must_use]
    pub fn find_broken(&self, name: &str) -> Option<&BrokenTool> {
        self.broken_tools.iter().find(|broken| broken.name == name)
    }

    /// The hooks of an event, in order.
    pub(crate) fn hooks_of(&self, event: &str) -> Arc<[Arc<RegisteredHook>]> {
        self.by_event
            .get(event)
            .map_or_else(|| self.listeners(event), Arc::clone)
    }

    /// Whether anything listens to an event.
    pub(crate) fn has_hooks(&self, event: &str) -> bool {
        !self.hooks_of(event).is_empty() || self.broken_for(event).is_some()
    }

    /// A hook that could not be loaded and therefore blocks this event.
    pub(crate) fn broken_for(&self, event: &str) -> Option<&BrokenHook> {
        self.broken_hooks.iter().find(|broken| match &broken.event {
            Some(of) => {
                of == event
                    || of
                        .strip_suffix('*')
                        .is_some_and(|prefix| event.starts_with(prefix))
            }
            // Artifacts still load, so that a call is refused by name and says which hook must be mended.
            None => {
                event != "artifact.load"
                    && hook_event::find(event).is_some_and(|event| event.gating)
            }
        })
    }

    /// The same snapshot without what a policy refused to load. The event of a refused hook is then blocked.
    pub(crate) fn refusing(
        mut self,
        tools: Vec<(usize, Diagnostic)>,
        hooks: Vec<(String, Diagnostic)>,
    ) -> Self {
        for (index, problem) in tools {
            if let Some(tool) = self.tools.get_mut(index).and_then(Arc::get_mut) {
                tool.unusable = Some(problem.clone());
            }
            self.diagnostics.push(problem);
        }
        for (name, problem) in hooks {
            if let Some(index) = self.hooks.iter().position(|hook| hook.hook.name == name) {
                let hook = self.hooks.remove(index);
                let origin = &hook.hook.origin;
                let (source, form) = (Arc::clone(&origin.source), origin.form);
                self.broken_hooks.push(BrokenHook {
                    name,
                    event: Some(hook.event.clone()),
                    source,
                    form,
                    problem: problem.clone(),
                });
            }
            self.diagnostics.push(problem);
        }
        self.sort_by_event();
        self
    }
}

/// Entries that were looked at when they were read: one that means nothing has made its file unusable.
fn patterns<'a>(entries: impl IntoIterator<Item = &'a Spanned<String>>) -> RedactionPatterns {
    RedactionPatterns::new(entries.into_iter().map(|entry| entry.value.as_str()))
        .unwrap_or_default()
}

/// The built-ins a script is linked with: those it can reach, that its side has, within its effects. One that a rule denies is left
/// out here when the worker does not wait for an answer; any other is refused, with the rule, when it crosses.
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
                || !rule::denies_by_name(rules, &builtin::full_name(module, builtin))
        })
        .map(|(index, _, _)| index)
        .collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}
