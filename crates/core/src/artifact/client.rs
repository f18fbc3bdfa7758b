//! How a client's own tools appear to hooks and policy, as its author wrote it.

pub use crate::native::{CLIENTS, Served, Split};

use crate::diagnostic::Diagnostic;
use crate::effect::Effects;
use crate::span::Source;
use std::sync::Arc;

/// A client map after parsing.
#[derive(Clone, Debug)]
pub struct ClientMap {
    /// The client: the file's stem.
    pub client: String,
    /// The file.
    pub source: Arc<Source>,
    /// `tools`, in the order written.
    pub tools: Vec<Arc<ClientTool>>,
    /// `contain`.
    pub commands: Commands,
    /// The first error, which refuses every call of the client.
    pub broken: Option<Diagnostic>,
}

/// How a client's own commands run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commands {
    /// As the client runs them.
    #[default]
    Free,
    /// Inside the project's sandbox plan.
    Contained,
}

/// One entry of `tools`.
#[derive(Clone, Debug)]
pub struct ClientTool {
    /// The client's name for it; `*` matches any text.
    pub pattern: String,
    /// `as`.
    pub name: Option<String>,
    /// `args`: the client's name and the one hooks see.
    pub args: Vec<(String, String)>,
    /// `paths`.
    pub paths: Vec<String>,
    /// `commands`.
    pub commands: Vec<String>,
    /// `split`.
    pub split: Option<Split>,
    /// `effects`.
    pub effects: Effects,
    /// `result`.
    pub result: Vec<String>,
    /// `tags`.
    pub tags: Vec<String>,
    /// Who serves the tool.
    pub served: Served,
}

impl ClientMap {
    /// A placeholder for a file that could not be read: the client's calls are refused. For a
    /// folder that cannot be listed, the calls of every client are.
    pub(super) fn broken(name: &str, source: &Arc<Source>, problem: &Diagnostic) -> Vec<Self> {
        let named: Vec<&str> = CLIENTS
            .into_iter()
            .filter(|client| *client == name || !CLIENTS.contains(&name))
            .collect();
        let map = |client: &str| Self {
            client: client.to_owned(),
            source: Arc::clone(source),
            tools: Vec::new(),
            commands: Commands::Contained,
            broken: Some(problem.clone()),
        };
        named.into_iter().map(map).collect()
    }
}
