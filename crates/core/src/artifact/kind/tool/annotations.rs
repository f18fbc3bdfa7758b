//! `annotations` of a tool.

use super::TEXTS;
use super::effects::LEVELS;
use crate::artifact::kind::root::capabilities;
use crate::artifact::node::Node;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::{flag, pairs, words};
use crate::effect::Level;
use serde_json::{Map, Value};

pub(super) const ANNOTATIONS: &[Field] = &[
    Field::new(
        "kind",
        Shape::Text,
        "none",
        "What the tool does, in one word such as `read` or `execute`.",
    ),
    Field::new(
        "side_effect_level",
        LEVELS,
        "inferred",
        "The effects as one level.",
    ),
    Field::new(
        "arg_schema",
        Shape::Record(ARG_SCHEMA),
        "none",
        "What policy should know about arguments.",
    ),
    Field::new(
        "capabilities",
        Shape::Map(&TEXTS),
        "none",
        "The operations of each capability that the tool uses.",
    ),
    Field::new(
        "emits_artifacts",
        Shape::Bool,
        "false",
        "Whether results may be handles to larger output.",
    ),
    Field::new(
        "result_readers",
        TEXTS,
        "none",
        "Tools that can read those handles.",
    ),
    Field::new(
        "inline_result",
        Shape::Bool,
        "false",
        "Whether results are always complete.",
    ),
    Field::new(
        "readOnlyHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: the tool changes nothing.",
    ),
    Field::new(
        "destructiveHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: what the tool does cannot be undone.",
    ),
    Field::new(
        "idempotentHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: a repeated call changes nothing more.",
    ),
    Field::new(
        "openWorldHint",
        Shape::Bool,
        "inferred",
        "The hint of that name in MCP: the tool reaches beyond this machine.",
    ),
];

const ARG_SCHEMA: &[Field] = &[
    Field::new("path_params", TEXTS, "none", "Arguments that are paths."),
    Field::new(
        "arg_aliases",
        Shape::Map(&Shape::Text),
        "none",
        "Other names of arguments, each with the canonical one.",
    ),
    Field::new(
        "required",
        TEXTS,
        "none",
        "Arguments that must be given, in addition to the schema's.",
    ),
];

/// The hints of MCP.
pub(crate) const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// `annotations` of seed 004. A bad field is a diagnostic; the others count.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// `kind`.
    pub kind: Option<String>,
    /// `side_effect_level`, also listed among the declared effects.
    pub level: Option<Level>,
    /// `arg_schema.path_params`: arguments that are paths.
    pub path_params: Vec<String>,
    /// `arg_schema.arg_aliases`: alias to canonical argument.
    pub arg_aliases: Vec<(String, String)>,
    /// `arg_schema.required`: added to the schema's own.
    pub required: Vec<String>,
    /// `capabilities`: capability to operations.
    pub capabilities: Vec<(String, Vec<String>)>,
    /// `emits_artifacts`.
    pub emits_artifacts: bool,
    /// `result_readers`.
    pub result_readers: Vec<String>,
    /// `inline_result`.
    pub(crate) inline_result: bool,
    /// `readOnlyHint`, `destructiveHint`, `idempotentHint`, `openWorldHint` as written.
    pub hints: Map<String, Value>,
}

pub(super) fn annotations(node: &Node) -> Annotations {
    let args = |name| node.at(&["arg_schema", name]);
    Annotations {
        kind: node.get("kind").and_then(Node::text).map(str::to_owned),
        level: node
            .get("side_effect_level")
            .and_then(Node::text)
            .and_then(Level::named),
        path_params: words(args("path_params")),
        arg_aliases: pairs(args("arg_aliases"))
            .map(|(alias, canonical)| (alias, canonical.value))
            .collect(),
        required: words(args("required")),
        capabilities: node
            .get("capabilities")
            .map(capabilities)
            .unwrap_or_default(),
        emits_artifacts: flag(node.get("emits_artifacts")),
        result_readers: words(node.get("result_readers")),
        inline_result: flag(node.get("inline_result")),
        hints: HINTS
            .into_iter()
            .filter_map(|hint| Some((hint.to_owned(), Value::Bool(node.get(hint)?.bool()?))))
            .collect(),
    }
}
