//! Stage 1: text to artifacts. Never fails as a whole; problems are recorded with their place.

pub mod hook;
pub mod node;
pub mod root;
pub mod shape;
pub mod tool;

use crate::diagnostic::Diagnostic;
use crate::span::Source;
use std::sync::Arc;

pub use hook::Hook;
pub use root::Root;
pub use tool::Tool;

/// Where an artifact came from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The file.
    pub source: Arc<Source>,
    /// The layer, which decides who may replace whom.
    pub layer: Layer,
    /// How the artifact was written there.
    pub form: Form,
}

/// Layers in the order they apply; a later one is closer to the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// `.harness/builtins/`.
    Builtin,
    /// `.harness/plugins/`.
    Plugin,
    /// Single files and `harness.md`.
    Project,
    /// `.harness/overrides/`: the only layer that may replace.
    Override,
}

/// How an artifact was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A file of its own, named by its stem.
    File,
    /// An entry of `tools:` or `hooks:` in the root file or a bundle, at this index.
    Inline(usize),
}

/// Everything read from one project.
#[derive(Clone, Debug, Default)]
pub struct Artifacts {
    /// The root file's settings.
    pub root: Root,
    /// Whether the root file is broken, which stops everything but reports.
    pub root_broken: bool,
    /// Tools in the order of layers, then paths. Names may clash; the registry decides.
    pub tools: Vec<Tool>,
    /// Hooks in the order of layers, then paths.
    pub hooks: Vec<Hook>,
    /// Files that should hold a hook and could not be read far enough to give one: each blocks every gating event.
    pub broken_hooks: Vec<BrokenHook>,
    /// Files that should hold a tool and could not be read far enough to give one.
    pub broken_tools: Vec<BrokenTool>,
    /// What is wrong, in file order.
    pub problems: Vec<Diagnostic>,
}

/// A hook file that gave no hook.
#[derive(Clone, Debug)]
pub struct BrokenHook {
    /// The file's stem.
    pub name: String,
    /// The file, for the refusal.
    pub source: Arc<Source>,
    /// The first problem.
    pub problem: Diagnostic,
}

/// A tool file that gave no tool.
#[derive(Clone, Debug)]
pub struct BrokenTool {
    /// The file's stem.
    pub name: String,
    /// The first problem.
    pub problem: Diagnostic,
}
