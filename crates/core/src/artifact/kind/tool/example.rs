//! `examples` of a tool.

use super::TEXTS;
use crate::artifact::node::Node;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::pairs;
use crate::span::Spanned;
use serde_json::{Map, Value};

pub(super) const EXAMPLE: &[Field] = &[
    Field::new("args", Shape::Map(&Shape::Any), "none", "The arguments."),
    Field::new(
        "result",
        Shape::Any,
        "not compared",
        "The value the call must return.",
    ),
    Field::new(
        "is_error",
        Shape::Bool,
        "not compared",
        "Whether the result must be an error.",
    ),
    Field::new(
        "files",
        Shape::Map(&Shape::Text),
        "none",
        "The workspace the call sees: path to text.",
    ),
    Field::new(
        "http",
        Shape::List(&Shape::Record(HTTP)),
        "none",
        "Answers of the network, in order.",
    ),
    Field::new(
        "exec",
        Shape::List(&Shape::Record(EXEC)),
        "none",
        "Answers of processes, in order.",
    ),
];

const HTTP: &[Field] = &[
    Field::new(
        "method",
        Shape::Text,
        "GET",
        "The method that must be used.",
    ),
    Field::new(
        "url",
        Shape::Text,
        "any",
        "The address that must be requested.",
    ),
    Field::new(
        "status",
        Shape::Integer(100),
        "200",
        "The status of the answer.",
    ),
    Field::new(
        "headers",
        Shape::Map(&Shape::Text),
        "none",
        "The headers of the answer.",
    ),
    Field::new("body", Shape::Any, "empty", "The body of the answer."),
];

const EXEC: &[Field] = &[
    Field::new(
        "cmd",
        Shape::Text,
        "any",
        "The program that must be started.",
    ),
    Field::new("args", TEXTS, "any", "The arguments it must get."),
    Field::new("stdout", Shape::Text, "empty", "What it writes."),
    Field::new(
        "stderr",
        Shape::Text,
        "empty",
        "What it writes to its error stream.",
    ),
    Field::new("exit_code", Shape::Integer(i64::MIN), "0", "Its exit code."),
];

/// One example, run by `harness test`.
#[derive(Clone, Debug, Default)]
pub struct ToolExample {
    /// `args`.
    pub args: Map<String, Value>,
    /// `result`, compared with the value when given.
    pub result: Option<Value>,
    /// `is_error`, compared when given.
    pub is_error: Option<bool>,
    /// `files`: the workspace the call sees.
    pub files: Vec<(String, String)>,
    /// `http` answers, in order.
    pub http: Vec<Value>,
    /// `exec` answers, in order.
    pub exec: Vec<Value>,
}

pub(super) fn example(node: &Node) -> Spanned<ToolExample> {
    let values = |name| node.items_of(name).iter().map(Node::to_json).collect();
    let value = ToolExample {
        args: match node.get("args").map(Node::to_json) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        },
        result: node.get("result").map(Node::to_json),
        is_error: node.get("is_error").and_then(Node::bool),
        files: pairs(node.get("files"))
            .map(|(path, text)| (path, text.value))
            .collect(),
        http: values("http"),
        exec: values("exec"),
    };
    node.spanned(value)
}
