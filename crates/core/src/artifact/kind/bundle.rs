//! A bundle of tools and hooks: its fields, what its author wrote, and how it is read.

use super::root::{HOOKS, TOOLS};
use super::script::{Script, script};
use super::{ArtifactKind, TEXTS, fields_of};
use crate::artifact::fit::fit;
use crate::artifact::node::Node;
use crate::artifact::problem::{Problems, quoted};
use crate::artifact::rule::{bundle_field_idle, bundle_name_differs, bundle_type_differs};
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::texts;
use crate::artifact::{Form, Layer, Origin};
use crate::diagnostic::Diagnostic;
use crate::span::{Place, Position, Source, Spanned};
use std::sync::Arc;

pub(in crate::artifact) const FIELDS: &[Field] = &[
    Field::new(
        "tools",
        TOOLS,
        "none",
        "Tools of the bundle, each with a `name`.",
    ),
    Field::new(
        "hooks",
        HOOKS,
        "none",
        "Hooks of the bundle, each with a `name`.",
    ),
    Field::new(
        "type",
        Shape::Text,
        "the folder's",
        "`builtin`, `plugin` or `override`, as the folder says; the folder decides.",
    ),
    Field::new(
        "name",
        Shape::Text,
        "the file's",
        "The name of the file without `.md`; the file decides, and `depends_on` takes either.",
    ),
    Field::new(
        "condition",
        Shape::Text,
        "always",
        "One pure expression with `ctx.get`, `ctx.has` and `env`, evaluated when the project is loaded; if it is false, the bundle is off.",
    ),
    Field::new(
        "depends_on",
        TEXTS,
        "none",
        "Names of bundles that must be on; this one loads after them.",
    ),
    Field::new(
        "version",
        Shape::Either(&[Shape::Text, Shape::Number]),
        "none",
        "The bundle's version, for readers.",
    ),
    Field::new(
        "description",
        Shape::Text,
        "none",
        "What the bundle is for, for readers.",
    ),
    Field::new("author", Shape::Text, "none", "Who wrote it, for readers."),
    Field::new("tags", TEXTS, "none", "Words for policy and search.").idle(),
    Field::new(
        "priority",
        Shape::Integer(i64::MIN),
        "none",
        "An order among bundles; here folders and `depends_on` order them, and each hook has its own priority.",
    )
    .idle(),
];

/// A bundle after parsing. Its tools and hooks are beside all others.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The file's stem.
    pub name: String,
    /// `name`, if it says something else; bundles that depend on this one may use either.
    pub(crate) other_name: Option<String>,
    /// The file.
    pub source: Arc<Source>,
    /// The layer of its folder.
    pub layer: Layer,
    /// `version`, as written.
    pub version: Option<String>,
    /// `condition`.
    pub(crate) condition: Option<Script>,
    /// `depends_on`.
    pub(crate) depends_on: Vec<Spanned<String>>,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// How many hooks it has.
    pub hooks: usize,
    /// What `condition` gave, once it was evaluated.
    pub(crate) answer: Option<Answer>,
    /// Whether it counts. Loading decides it.
    pub state: BundleState,
}

/// What the condition of a bundle gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A value that counts as true.
    True,
    /// A value that counts as false.
    False,
    /// It failed, with this message, here.
    Failed(String, Option<Position>),
}

/// Whether a bundle counts.
#[derive(Clone, Debug)]
pub enum BundleState {
    /// All of it.
    On,
    /// Nothing of it: its condition is false.
    Off,
    /// Only its hooks, for this reason: a guard stays where it is uncertain whether it is needed,
    /// and a tool does not.
    HooksOnly(Box<BundleDoubt>),
}

/// Why the tools of a bundle are off.
#[derive(Clone, Debug)]
pub struct BundleDoubt {
    /// The reason in a few words.
    pub because: String,
    /// The finding that `harness validate` shows.
    pub found: Diagnostic,
}

impl Bundle {
    /// The word for its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        kind_of(self.layer)
    }

    /// The file's first line.
    pub(crate) fn place(&self) -> Place {
        let line = self.source.text.find(['\r', '\n']).unwrap_or_default();
        Place::new(&self.source, crate::span::Span::new(0, line))
    }
}

/// The word for the bundles of a layer.
fn kind_of(layer: Layer) -> &'static str {
    match layer {
        Layer::Builtin => "builtin",
        Layer::Plugin => "plugin",
        Layer::Override => "override",
        Layer::Project => "project",
    }
}

/// The kinds that bundles of AI Harness also have, and where their content goes here.
const FOREIGN: [(&str, &str); 4] = [
    ("harness", "put its text and settings into `harness.md`"),
    ("model", "write models under `models` in `harness.md`"),
    (
        "compaction",
        "nothing here compacts a context yet: remove the file",
    ),
    (
        "extension",
        "split it into tools and hooks, and remove `type`",
    ),
];

/// What only bundles of those kinds have.
const FOREIGN_KEYS: [&str; 5] = [
    "models",
    "compaction",
    "triggers",
    "retention",
    "strategies",
];

/// Reads every field but `tools` and `hooks`; a wrong value is reported and its default used.
pub(in crate::artifact) fn read_bundle(
    problems: &mut Problems<'_>,
    name: &str,
    layer: Layer,
    node: &Node,
) -> Bundle {
    let foreign = node.get("type").and_then(Node::text).and_then(foreign);
    let known = problems.found.len();
    fit(problems, &[], fields_of(ArtifactKind::Bundle), node);
    if foreign.is_some() {
        // The finding about `type` covers what only such a bundle has.
        let is_foreign = |found: &Diagnostic| {
            let field = found.field.as_deref().unwrap_or_default();
            FOREIGN_KEYS.contains(&field)
        };
        let own = problems.found.split_off(known);
        problems
            .found
            .extend(own.into_iter().filter(|found| !is_foreign(found)));
    }
    judge_type(problems, layer, node.get("type"), foreign);
    judge_name(problems, name, node.get("name"));
    judge_idle(problems, node);
    let origin = Origin {
        source: Arc::clone(problems.source),
        layer,
        form: Form::File,
    };
    let names = |list: &str| {
        let entries = node.items_of(list).iter();
        let named = entries.filter_map(|entry| entry.get("name")?.text());
        named.map(str::to_owned).collect::<Vec<_>>()
    };
    let version = node.get("version");
    Bundle {
        name: name.to_owned(),
        other_name: node
            .get("name")
            .and_then(Node::text)
            .filter(|written| *written != name)
            .map(str::to_owned),
        version: version.map(|node| match node.text() {
            Some(text) => text.to_owned(),
            None => node.to_json().to_string(),
        }),
        condition: script(&origin, node.get("condition")),
        depends_on: texts(node.get("depends_on")),
        tools: names("tools"),
        hooks: node.items_of("hooks").len(),
        answer: None,
        state: BundleState::On,
        source: origin.source,
        layer,
    }
}

fn foreign(word: &str) -> Option<&'static (&'static str, &'static str)> {
    FOREIGN.iter().find(|(known, _)| *known == word.trim())
}

fn judge_type(
    problems: &mut Problems<'_>,
    layer: Layer,
    node: Option<&Node>,
    foreign: Option<&(&str, &str)>,
) {
    let Some((node, word)) = node.and_then(|node| Some((node, node.text()?.trim()))) else {
        return;
    };
    let here = kind_of(layer);
    if word == here {
        return;
    }
    let rule = &bundle_type_differs::RULE;
    let finding = match foreign {
        Some((word, instead)) => rule
            .finding(format!(
                "there are no bundles of `type: {word}` here: only its tools and hooks count, as those of a {here}"
            ))
            .help(*instead),
        None => rule
            .finding(format!(
                "`type` says {}, but the folder makes this a {here}",
                quoted(word)
            ))
            .help(match word {
                "builtin" | "plugin" | "override" => format!(
                    "write `type: {here}`, or move the file to `.harness/{word}s`"
                ),
                _ => format!("write `type: {here}`"),
            }),
    };
    problems.add(finding.field("type"), node.span);
}

fn judge_name(problems: &mut Problems<'_>, name: &str, node: Option<&Node>) {
    let Some((node, written)) = node.and_then(|node| Some((node, node.text()?.trim()))) else {
        return;
    };
    if written != name {
        let finding = bundle_name_differs::RULE.finding(format!(
            "`name` says {}, but the file makes this {}",
            quoted(written),
            quoted(name)
        ));
        problems.add(
            finding.field("name").help(format!(
                "write `name: {name}`, or rename the file; `depends_on` takes either name"
            )),
            node.span,
        );
    }
}

/// Says once which fields do nothing.
fn judge_idle(problems: &mut Problems<'_>, node: &Node) {
    let idle: Vec<_> = ["priority", "tags"]
        .into_iter()
        .filter_map(|key| Some((key, node.get(key)?)))
        .collect();
    let Some((_, first)) = idle.first() else {
        return;
    };
    let names: Vec<_> = idle.iter().map(|(key, _)| format!("`{key}`")).collect();
    let finding = bundle_field_idle::RULE.finding(format!(
        "{} of a bundle has no effect yet",
        names.join(" and ")
    ));
    problems.add(
        finding.help("give each hook its own `priority`, and each tool its own `tags`"),
        first.span,
    );
}
