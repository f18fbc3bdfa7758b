//! `limits` of a tool or of the project.

use crate::artifact::node::Node;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::natural;

/// `limits` of a tool or of the project.
pub(super) const LIMITS: &[Field] = &[
    Field::new(
        "max_calls",
        Shape::Integer(0),
        "no cap",
        "Calls per session; more are refused.",
    ),
    Field::new(
        "max_concurrency",
        Shape::Integer(1),
        "no cap",
        "Calls at once; more wait.",
    ),
    Field::new(
        "max_output_bytes",
        Shape::Integer(1),
        "the harness's",
        "Bytes of text the model sees of one result.",
    ),
    // A worker and its stack need at least this much.
    Field::new(
        "memory_mb",
        Shape::Integer(8),
        "the harness's",
        "Memory of one call.",
    ),
    Field::new(
        "cpu_ms",
        Shape::Integer(1),
        "the harness's",
        "Processor time of one call.",
    ),
    Field::new(
        "processes",
        Shape::Integer(1),
        "the harness's",
        "Processes and threads of one call at once.",
    ),
];

/// `limits` of a tool or of the project; absent means the next wider one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Calls per session.
    pub max_calls: Option<u64>,
    /// Calls at once.
    pub max_concurrency: Option<u64>,
    /// Bytes of text the model sees.
    pub max_output_bytes: Option<u64>,
    /// Memory of one call.
    pub memory_mb: Option<u64>,
    /// Processor time of one call.
    pub cpu_ms: Option<u64>,
    /// Processes and threads of one call at once.
    pub processes: Option<u64>,
}

/// `limits` of a tool or the root file.
pub(super) fn limits(node: &Node) -> Limits {
    let limit = |name| natural(node.get(name));
    Limits {
        max_calls: limit("max_calls"),
        max_concurrency: limit("max_concurrency"),
        max_output_bytes: limit("max_output_bytes"),
        memory_mb: limit("memory_mb"),
        cpu_ms: limit("cpu_ms"),
        processes: limit("processes"),
    }
}
