//! The fields of a client map.

use super::super::shape::{Field, Shape};

const TEXTS: Shape = Shape::List(&Shape::Text);

pub(super) const FIELDS: &[Field] = &[
    Field::new(
        "tools",
        Shape::Map(&Shape::Record(TOOL)),
        "the built-in map",
        "How each of the client's tools appears, by its name; `*` stands for any text. The first entry that fits counts; the built-in ones come last.",
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
        "What is judged one by one: each item of `edits`, or each file that `patch` touches.",
    ),
    Field::new(
        "effects",
        Shape::List(&Shape::Word(&[
            "read",
            "write",
            "exec",
            "net_read",
            "net_write",
            "desktop",
            "destructive",
            "spend",
        ])),
        "every effect",
        "What the tool can do.",
    ),
    Field::new(
        "result",
        TEXTS,
        "none",
        "Where the client's result has its text, the most important first; hooks can change it there only.",
    ),
    Field::new("tags", TEXTS, "none", "Words for policy."),
    Field::new(
        "own",
        Shape::Bool,
        "`false`",
        "Whether harness itself serves the tool to the client and judges it there: no opinion here.",
    ),
];
