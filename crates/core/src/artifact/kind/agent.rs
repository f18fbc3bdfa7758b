//! An agent: its fields, and what of it the checks look at. Nothing runs agents yet.

use super::root::MODEL;
use super::{ArtifactKind, Hook, Naming, Tool, fields_of, hook, tool};
use crate::artifact::fit::fit;
use crate::artifact::node::Node;
use crate::artifact::problem::{Problems, Subject};
use crate::artifact::shape::{Field, Shape};
use crate::artifact::{Form, Layer, Origin};
use crate::diagnostic::Diagnostic;
use crate::span::{Place, Source, Span, Spanned};
use std::sync::Arc;

pub(in crate::artifact) const FIELDS: &[Field] = &[
    Field::new(
        "description",
        Shape::Text,
        "none",
        "What the agent is for, for whoever hands it work.",
    )
    .idle(),
    Field::new("model", MODEL, "the project's", "The agent's model.").idle(),
    Field::new(
        "tools",
        Shape::List(&Shape::Either(&[
            Shape::Text,
            Shape::Inline(tool::INLINE, tool::FIELDS),
        ])),
        "none",
        "Names or globs of the project's tools, and tools of the agent's own, each with a `name`.",
    )
    .idle(),
    Field::new(
        "hooks",
        Shape::List(&Shape::Either(&[
            Shape::Text,
            Shape::Inline(hook::INLINE, hook::FIELDS),
        ])),
        "none",
        "Names of the project's hooks, and hooks of the agent's own.",
    )
    .idle(),
];

/// An agent artifact after parsing.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    /// The file's stem.
    pub(crate) name: String,
    /// The file.
    pub(crate) source: Arc<Source>,
    /// The tools of the project that it names.
    pub(crate) tool_names: Vec<Spanned<String>>,
    /// The hooks of the project that it names.
    pub(crate) hook_names: Vec<Spanned<String>>,
    /// Its own tools, for the checks.
    pub(crate) tools: Vec<Tool>,
    /// Its own hooks, for the checks.
    pub(crate) hooks: Vec<Hook>,
}

impl Agent {
    /// The place of a span of its file.
    pub(crate) fn place(&self, span: Span) -> Place {
        Place::new(&self.source, span)
    }
}

/// Reads every field. `found` has the problems of the YAML; all problems are returned.
pub(in crate::artifact) fn read_agent(
    source: &Arc<Source>,
    name: &str,
    node: &Node,
    found: Vec<Diagnostic>,
) -> (Agent, Vec<Diagnostic>) {
    let mut problems = Problems::new(source, Subject::Agent, found);
    fit(&mut problems, &[], fields_of(ArtifactKind::Agent), node);
    let mut all = problems.found;
    let names = |list: &str| {
        let items = node.items_of(list).iter();
        items
            .filter_map(|item| Some(item.spanned(item.text()?.to_owned())))
            .collect()
    };
    let (mut tools, mut hooks) = (Vec::new(), Vec::new());
    for (index, entry) in own_entries(node, "tools") {
        let naming = naming(entry, &["name"]);
        let mut problems = Problems::new(source, Subject::Tool(&naming.name), Vec::new());
        if naming.name.is_empty() {
            problems.missing(
                entry.span,
                &format!("tools[{index}].name"),
                "a `name` for it",
            );
        }
        let own = tool::read_tool(&mut problems, origin(source, index), naming.clone(), entry);
        all.append(&mut problems.found);
        tools.push(own);
    }
    for (index, entry) in own_entries(node, "hooks") {
        let naming = naming(entry, &["name", "handler"]);
        let mut problems = Problems::new(source, Subject::Hook(&naming.name), Vec::new());
        let own = hook::read_hook(&mut problems, origin(source, index), naming.clone(), entry);
        all.append(&mut problems.found);
        hooks.push(own);
    }
    let agent = Agent {
        name: name.to_owned(),
        source: Arc::clone(source),
        tool_names: names("tools"),
        hook_names: names("hooks"),
        tools,
        hooks,
    };
    (agent, all)
}

fn own_entries<'n>(node: &'n Node, list: &str) -> impl Iterator<Item = (usize, &'n Node)> {
    let entries = node.items_of(list).iter().enumerate();
    entries.filter(|(_, entry)| entry.is_map())
}

fn origin(source: &Arc<Source>, index: usize) -> Origin {
    Origin {
        source: Arc::clone(source),
        layer: Layer::Project,
        form: Form::Inline(index),
    }
}

fn naming(entry: &Node, keys: &[&str]) -> Naming {
    let named = keys
        .iter()
        .filter_map(|key| entry.get(key))
        .find(|name| name.text().is_some_and(|text| !text.trim().is_empty()));
    let described = entry.get("description");
    Naming {
        name: named
            .and_then(Node::text)
            .map(str::to_owned)
            .unwrap_or_default(),
        span: named.map_or(entry.span, |name| name.span),
        prose: described
            .and_then(Node::text)
            .map(|text| text.trim().to_owned())
            .unwrap_or_default(),
        prose_span: described.map(|node| node.span),
    }
}
