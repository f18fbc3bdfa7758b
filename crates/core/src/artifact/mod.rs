//! Stage 1: text to artifacts. Never fails as a whole; problems are recorded with their place.

mod file_kind;
mod fit;
pub(crate) mod frontmatter;
mod json_schema;
pub mod kind;
mod load;
pub(crate) mod locate;
pub mod node;
mod offsets;
pub(crate) mod problem;
mod prompt_text;
mod read;
pub(crate) mod rule;
mod scalar;
pub mod shape;
mod slip;
mod stamp;
mod value;
pub mod yaml;

#[cfg(test)]
mod tests;

use crate::diagnostic::Diagnostic;
use crate::span::Source;
use kind::tool::Script;
use std::sync::Arc;

pub use json_schema::json_schema;
pub(crate) use kind::agent::Agent;
pub(crate) use kind::bundle::Answer;
pub use kind::bundle::{Bundle, BundleDoubt, BundleState};
pub(crate) use kind::client::ClientMap;
pub use kind::hook::Hook;
pub(crate) use kind::layer::read_layer;
pub use kind::layer::{Authority, LayerFile};
pub use kind::root::Root;
pub use kind::tool::Tool;
pub use kind::{ArtifactKind, fields_of, unsupported_fields};
pub use kind::{client, hook, layer, permission, root, tool};
pub use load::load;
pub(crate) use load::{Extent, Files};
pub use read::read;

pub(crate) use stamp::Stamp;

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
    pub(crate) root_broken: bool,
    /// Tools in the order of layers, then paths. Names may clash; the registry decides.
    pub tools: Vec<Tool>,
    /// Hooks in the order of layers, then paths.
    pub hooks: Vec<Hook>,
    /// Hooks with a reading error. A hook that could still be read is also in `hooks`, for the
    /// checks; it must not run.
    pub broken_hooks: Vec<BrokenHook>,
    /// Tools with a reading error. A tool that could still be read is also in `tools`, for the
    /// checks; it must not be offered.
    pub broken_tools: Vec<BrokenTool>,
    /// The bundles, in the order of layers, then paths.
    pub bundles: Vec<Bundle>,
    /// Agents, for the checks; nothing runs them yet.
    pub(crate) agents: Vec<Agent>,
    /// The conditions of contexts, for the checks; nothing evaluates them yet.
    pub(crate) conditions: Vec<Script>,
    /// How the project maps clients' own tools.
    pub clients: Vec<ClientMap>,
    /// The files of the machine and of the user, highest first.
    pub layers: Vec<LayerFile>,
    /// The problems found, in file order.
    pub problems: Vec<Diagnostic>,
}

/// A hook with an error, or a file or bundle that may hold one and could not be read.
#[derive(Clone, Debug)]
pub struct BrokenHook {
    /// The hook's name; the file's stem when no hook could be read.
    pub name: String,
    /// The file, for the refusal.
    pub source: Arc<Source>,
    /// How it was written there.
    pub form: Form,
    /// The event it blocks; absent when it could not be read, which blocks every gating event.
    pub event: Option<String>,
    /// The first error.
    pub problem: Diagnostic,
}

/// A tool with an error.
#[derive(Clone, Debug)]
pub struct BrokenTool {
    /// The tool's name; the file's stem when no tool could be read.
    pub name: String,
    /// The file.
    pub source: Arc<Source>,
    /// How it was written there.
    pub form: Form,
    /// The first error.
    pub problem: Diagnostic,
}
