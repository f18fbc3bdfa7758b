//! Stage 3: the catalogue of everything loaded. It never changes and knows no modes; a
//! [`crate::view::View`] holds what depends on a mode.

mod hints;
mod hook;
mod offered;
mod order;
mod reader;
mod tool;

use crate::path::is_root_file;
pub use hints::Hints;
pub(crate) use hook::RegisteredHook;
pub use offered::OfferedTool;
pub use tool::RegisteredTool;
pub(crate) use tool::{HostBodies, Key};

use crate::artifact::tool::Limits;
use crate::artifact::{BrokenHook, BrokenTool, Bundle, ClientMap, Layer, LayerFile, Root};
use crate::check::{CheckedHook, CheckedProject};
use crate::diagnostic::{Diagnostic, Severity};
use crate::hook_event;
use crate::redact::RedactionPatterns;
use crate::span::{Span, Spanned};
use crate::worker::script::Scripts;
use std::sync::Arc;

/// Everything loaded from one project at one time.
#[derive(Debug)]
pub struct Catalogue {
    /// The root file's settings.
    pub root: Root,
    /// The machine's and the user's files, highest first.
    pub layers: Vec<LayerFile>,
    /// Everything wrong with the project, in file order.
    pub diagnostics: Vec<Diagnostic>,
    /// The bundles, on or off.
    pub bundles: Vec<Bundle>,
    /// The project's maps of clients' own tools.
    pub clients: Vec<ClientMap>,
    /// The first error of a broken root file or of a layer above it. While it is set, nothing can
    /// be called.
    pub stopped: Option<Diagnostic>,
    tools: Vec<Arc<RegisteredTool>>,
    /// The harness's own tool, offered alongside the project's tools.
    reader: Option<Arc<RegisteredTool>>,
    by_name: foldhash::HashMap<String, usize>,
    broken_tools: Vec<BrokenTool>,
    hooks: Vec<Arc<RegisteredHook>>,
    broken_hooks: Vec<BrokenHook>,
}

impl Catalogue {
    /// Builds the catalogue of a checked project, with the Rust code that the host registered.
    pub(crate) fn new(
        checked: CheckedProject,
        limits: Limits,
        bodies: &HostBodies<'_>,
        scripts: &Scripts,
    ) -> Self {
        let CheckedProject {
            root,
            root_broken,
            tools,
            hooks,
            broken_hooks,
            broken_tools,
            bundles,
            clients,
            layers,
            diagnostics,
        } = checked;
        let broken = || Diagnostic::new("YAML_INVALID", Severity::Error, "the root file is broken");
        let is_root = |found: &&Diagnostic| {
            let place = found.place.as_ref();
            found.severity == Severity::Error
                && place.is_some_and(|place| is_root_file(&place.source.path))
        };
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
        let mut catalogue = Self {
            diagnostics,
            bundles,
            clients,
            stopped,
            tools: Vec::with_capacity(tools.len()),
            reader: None,
            by_name: foldhash::HashMap::default(),
            broken_tools,
            hooks: Vec::new(),
            broken_hooks,
            layers,
            root,
        };
        for tool in tools {
            catalogue.add_tool(RegisteredTool::new(tool, limits, bodies, scripts));
        }
        for hook in hooks {
            catalogue.add_hook(hook);
        }
        let paths = catalogue
            .hooks
            .iter()
            .map(|hook| Arc::clone(&hook.hook.origin.source.path));
        let positions = order::positions(paths, &catalogue.bundles);
        catalogue.hooks.sort_by_key(|hook| {
            let position = positions.get(&hook.hook.origin.source.path).copied();
            (hook.hook.priority, position)
        });
        catalogue
    }

    /// Makes the tools share their concurrency slots with the previous version, so that calls still
    /// running there count here.
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

    fn add_tool(&mut self, registered: RegisteredTool) {
        let (tool, index) = (&registered.tool, self.tools.len());
        let usable = registered.unusable.is_none();
        for (_, alias) in tool.aliases.iter().filter(|_| usable) {
            self.by_name.entry(alias.value.clone()).or_insert(index);
        }
        if usable || !self.by_name.contains_key(&tool.name) {
            self.by_name.insert(tool.name.clone(), index);
        }
        self.tools.push(Arc::new(registered));
    }

    fn add_hook(&mut self, checked: CheckedHook) {
        let CheckedHook {
            hook,
            reaches,
            broken,
        } = checked;
        // A hook for an unknown event may have been meant to guard something, so it blocks
        // everything.
        let event = hook
            .event
            .as_ref()
            .map(|event| event.value.clone())
            .filter(|event| hook_event::find(event).is_some());
        match (broken, &event) {
            // One without a script is the host's, or does nothing.
            (None, Some(event)) => self.hooks.push(Arc::new(RegisteredHook {
                event: event.clone(),
                reaches,
                hook,
            })),
            (broken, _) => {
                // The hook that an override replaced is gone, so a broken override blocks every
                // event.
                let event = event.filter(|_| hook.origin.layer != Layer::Override);
                let problem = broken.unwrap_or_else(|| {
                    let place = hook.place(Span::default());
                    let message = "the hook's event is not known";
                    Diagnostic::new("HOOK_EVENT_UNKNOWN", Severity::Error, message).at(place)
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

    /// Every tool that was read, usable or not, ordered by layer and path.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.tools.iter()
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

    /// Tool files that produced no tool.
    #[must_use]
    pub fn broken_tools(&self) -> &[BrokenTool] {
        &self.broken_tools
    }

    /// The tool with that name or alias.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<RegisteredTool>> {
        self.position(name)
            .and_then(|index| self.all_tools().nth(index))
    }

    /// The index of the tool with that name or alias in [`Catalogue::all_tools`].
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let is_reader = || {
            self.reader
                .as_ref()
                .is_some_and(|reader| reader.name() == name)
        };
        let reader = || is_reader().then_some(self.tools.len());
        self.by_name.get(name).copied().or_else(reader)
    }

    /// Every tool of the project, then the harness's own tool.
    pub(crate) fn all_tools(&self) -> impl Iterator<Item = &Arc<RegisteredTool>> {
        self.tools.iter().chain(&self.reader)
    }

    /// What the project and the layers above it redact from everything that leaves a call.
    pub(crate) fn redaction(&self) -> RedactionPatterns {
        redaction_patterns(
            self.layers
                .iter()
                .map(|layer| &layer.root)
                .chain([&self.root])
                .flat_map(|root| &root.redaction),
        )
    }

    /// The tool file with that name that produced no tool.
    #[must_use]
    pub fn find_broken(&self, name: &str) -> Option<&BrokenTool> {
        self.broken_tools.iter().find(|broken| broken.name == name)
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
            // Artifacts still load, so that the refusal of a call can name the hook to fix.
            None => {
                event != "artifact.load"
                    && hook_event::find(event).is_some_and(|event| event.gating)
            }
        })
    }

    /// Removes what a policy refused to load. The event of a refused hook is then blocked.
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
        self
    }
}

/// The entries were checked when they were read: an invalid one already made its file unusable.
fn redaction_patterns<'a>(
    entries: impl IntoIterator<Item = &'a Spanned<String>>,
) -> RedactionPatterns {
    RedactionPatterns::new(entries.into_iter().map(|entry| entry.value.as_str()))
        .unwrap_or_default()
}
