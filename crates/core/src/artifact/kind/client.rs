//! A client map: how a client's own tools appear to hooks and policy.

pub use crate::native::{CLIENTS, Served, Split};

use super::tool::effects::EFFECTS;
use super::{ArtifactKind, TEXTS, fields_of};

use crate::artifact::fit::fit;
use crate::artifact::node::{Key, Node};
use crate::artifact::problem::Problems;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::words;
use crate::diagnostic::Diagnostic;
use crate::effect::Effects;
use crate::span::Source;
use std::sync::Arc;

pub(in crate::artifact) const FIELDS: &[Field] = &[
    Field::new(
        "tools",
        Shape::Map(&Shape::Record(TOOL)),
        "the built-in map",
        "How each of the client's tools appears, by its name; `*` matches any text. The first matching entry counts; the built-in ones come last.",
    ),
    Field::new(
        "contain",
        Shape::Bool,
        "`false`",
        "Whether the client's own shell commands run inside the project's sandbox plan, by way of `harness exec`.",
    ),
];

const TOOL: &[Field] = &[
    Field::new(
        "as",
        Shape::Text,
        "the client's name for it",
        "The name that hooks and policy see.",
    ),
    Field::new(
        "args",
        Shape::Map(&Shape::Text),
        "none",
        "The client's names of arguments, each with the one that hooks and policy see.",
    ),
    Field::new(
        "paths",
        TEXTS,
        "none",
        "Arguments that are paths, by the names hooks see; `*` means any text may be one.",
    ),
    Field::new(
        "commands",
        TEXTS,
        "none",
        "Arguments that are shell commands, by the names hooks see.",
    ),
    Field::new(
        "split",
        Shape::Word(&["edits", "patch"]),
        "one judgement",
        "What is judged separately: each item of `edits`, or each file that `patch` touches.",
    ),
    Field::new("effects", EFFECTS, "every effect", "What the tool can do."),
    Field::new(
        "result",
        TEXTS,
        "none",
        "Where the client's result has its text, the most important first; hooks can only change it there.",
    ),
    Field::new("tags", TEXTS, "none", "Words for policy."),
    Field::new(
        "own",
        Shape::Bool,
        "`false`",
        "Whether the harness itself serves the tool to the client; the call is then judged there and not here.",
    ),
];

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

/// Reads every entry; a wrong value is reported, and any error makes the map broken.
pub(in crate::artifact) fn read_client(
    problems: &mut Problems<'_>,
    client: &str,
    node: &Node,
) -> ClientMap {
    fit(problems, &[], fields_of(ArtifactKind::Client), node);
    let entries = node.get("tools").map(Node::entries).unwrap_or_default();
    ClientMap {
        client: client.to_owned(),
        source: Arc::clone(problems.source),
        tools: entries
            .iter()
            .map(|(key, node)| Arc::new(tool(key, node)))
            .collect(),
        commands: if node.get("contain").and_then(Node::bool) == Some(true) {
            Commands::Contained
        } else {
            Commands::Free
        },
        broken: None,
    }
}

fn tool(key: &Key, node: &Node) -> ClientTool {
    let effects = node.get("effects").map_or(Effects::ALL, |node| {
        words(Some(node))
            .into_iter()
            .filter_map(|word| Effects::named(&word))
            .fold(Effects::NONE, Effects::and)
    });
    let args = node.get("args").map(Node::entries).unwrap_or_default();
    ClientTool {
        pattern: key.name.clone(),
        name: node.get("as").and_then(Node::text).map(str::to_owned),
        args: args
            .iter()
            .filter_map(|(key, node)| Some((key.name.clone(), node.text()?.to_owned())))
            .collect(),
        paths: words(node.get("paths")),
        commands: words(node.get("commands")),
        split: match node.get("split").and_then(Node::text) {
            Some("edits") => Some(Split::Edits),
            Some("patch") => Some(Split::Patch),
            _ => None,
        },
        effects,
        result: words(node.get("result")),
        tags: words(node.get("tags")),
        served: if node.get("own").and_then(Node::bool) == Some(true) {
            Served::Here
        } else {
            Served::Elsewhere
        },
    }
}

impl ClientMap {
    /// A placeholder for a file that could not be read: the client's calls are refused. For a
    /// folder that cannot be listed, the calls of every client are.
    pub(in crate::artifact) fn broken(
        name: &str,
        source: &Arc<Source>,
        problem: &Diagnostic,
    ) -> Vec<Self> {
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
