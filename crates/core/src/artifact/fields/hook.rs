//! The fields of a hook.

use super::super::shape::{Field, Shape};
use super::tool::PERMISSIONS;

/// What only a hook inside another file writes.
pub(in super::super) const INLINE: &[Field] = &[
    Field::new("name", Shape::Text, "`handler`", "The hook's name."),
    Field::new(
        "handler",
        Shape::Text,
        "none",
        "Another spelling of `name`.",
    ),
    Field::new(
        "description",
        Shape::Text,
        "none",
        "What the hook is for, for reviewers.",
    ),
];

pub(super) const FIELDS: &[Field] = &[
    Field::new(
        "event",
        Shape::Text,
        "required",
        "The event the hook runs for, such as `tool.pre`.",
    ),
    Field::new(
        "script",
        Shape::Text,
        "none",
        "Starlark that defines `handle(event, payload)` and returns a decision.",
    ),
    Field::new(
        "when",
        Shape::Text,
        "always",
        "One pure expression over `event` and `payload`; the hook runs when it holds.",
    ),
    Field::new(
        "priority",
        Shape::Integer(i64::MIN),
        "100",
        "Lower runs first; equal ones run in the order of their paths.",
    ),
    Field::new(
        "on_error",
        Shape::Word(&["block", "allow"]),
        "`block` on gating events, else `allow`",
        "What a failure of the hook means.",
    ),
    Field::new(
        "timeout_ms",
        Shape::Integer(1),
        "1000",
        "The most time one run may take.",
    ),
    Field::new(
        "permissions",
        PERMISSIONS,
        "none",
        "The hosts a hook may reach with `http`: entries of `kind: network`.",
    ),
    Field::new(
        "examples",
        Shape::List(&Shape::Record(EXAMPLE)),
        "none",
        "Payloads with their decisions, run by `harness test`.",
    ),
    Field::new(
        "tags",
        Shape::List(&Shape::Text),
        "none",
        "Words for policy and search.",
    ),
    super::tool::SILENCED,
];

const EXAMPLE: &[Field] = &[
    Field::new(
        "event",
        Shape::Text,
        "the hook's",
        "The event, for a hook on several.",
    ),
    Field::new(
        "payload",
        Shape::Map(&Shape::Any),
        "what the runtime fills in",
        "What the hook sees.",
    ),
    Field::new(
        "decision",
        Shape::Word(&["allow", "block", "ask", "modify", "delegate"]),
        "required",
        "What the hook must decide.",
    ),
    Field::new(
        "reason",
        Shape::Text,
        "not compared",
        "Text the reason must contain.",
    ),
    Field::new(
        "modified",
        Shape::Any,
        "not compared",
        "The part of the payload that `modify` must give.",
    ),
];
