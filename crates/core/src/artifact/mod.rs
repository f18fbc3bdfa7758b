//! Stage 1: text to artifacts. Never fails as a whole; problems are recorded with their place.

pub mod client;
pub mod fields;
mod file_kind;
mod fit;
pub(crate) mod frontmatter;
pub mod hook;
mod json_schema;
pub mod layer;
mod load;
pub(crate) mod locate;
pub mod node;
mod offsets;
pub mod permission;
pub(crate) mod problem;
mod read;
mod read_client;
pub(crate) mod read_effects;
mod read_hook;
mod read_layer;
mod read_parameters;
mod read_permission;
mod read_root;
mod read_secret;
mod read_tool;
pub mod root;
pub(crate) mod rule;
mod scalar;
pub mod shape;
mod stamp;
pub mod tool;
pub mod yaml;

#[cfg(test)]
mod tests;

use crate::diagnostic::Diagnostic;
use crate::span::Source;
use std::sync::Arc;

pub use client::ClientMap;
pub use fields::unsupported_fields;
pub use hook::Hook;
pub use json_schema::json_schema;
pub use layer::{Authority, LayerFile};
pub use load::load;
pub(crate) use load::{Extent, Files};
pub use read::{MAX_FILE_BYTES, read};

pub(crate) use read_layer::read_layer;
pub use root::Root;
pub use stamp::Stamp;
pub use tool::Tool;

/// The kinds of artifact that have a table of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactKind {
    /// A tool.
    Tool,
    /// A hook.
    Hook,
    /// The root file.
    Root,
    /// A bundle of tools and hooks.
    Bundle,
    /// How a client's own tools appear.
    Client,
    /// The policy for all projects on a machine, or of a user.
    Layer,
}

impl ArtifactKind {
    /// Every kind, in the order of the reference.
    pub const ALL: [Self; 6] = [
        Self::Tool,
        Self::Hook,
        Self::Root,
        Self::Bundle,
        Self::Client,
        Self::Layer,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Hook => "hook",
            Self::Root => "root",
            Self::Bundle => "bundle",
            Self::Client => "client",
            Self::Layer => "layer",
        }
    }
}

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
    /// Hooks with a reading error. A hook that could still be read is also in `hooks`, for the
    /// checks; it must not run.
    pub broken_hooks: Vec<BrokenHook>,
    /// Tools with a reading error. A tool that could still be read is also in `tools`, for the
    /// checks; it must not be offered.
    pub broken_tools: Vec<BrokenTool>,
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
