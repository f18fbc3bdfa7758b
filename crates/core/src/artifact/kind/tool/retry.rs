//! `idempotency` and `retry` of a tool.

use super::Script;
use crate::artifact::Origin;
use crate::artifact::node::Node;
use crate::artifact::shape::{Field, Shape};
use crate::artifact::value::{flag, natural};
use crate::span::Place;
use std::time::Duration;

pub(super) const IDEMPOTENCY: &[Field] = &[Field::new(
    "key",
    Shape::Text,
    "required",
    "A Starlark expression over `args`, without built-ins. While the program runs, a call that repeats its value, with the same injected values, returns the stored result of the first such call; `None` means that this call has no key.",
)];

pub(super) const RETRY: &[Field] = &[
    Field::new("max_attempts", Shape::Integer(1), "1", "Attempts in all."),
    Field::new(
        "initial_backoff_ms",
        Shape::Integer(0),
        "0",
        "The wait before the second attempt.",
    ),
    Field::new(
        "max_backoff_ms",
        Shape::Integer(0),
        "no cap",
        "The longest wait.",
    ),
    Field::new(
        "multiplier",
        Shape::Number,
        "1",
        "How much each wait grows.",
    ),
];

/// `retry`: how often a retryable failure of an idempotent call is tried again, and how long is
/// waited in between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryPolicy {
    /// Attempts in all.
    pub max_attempts: u32,
    /// The wait before the second attempt.
    pub initial_backoff_ms: u64,
    /// The longest wait.
    pub max_backoff_ms: u64,
    /// How much each wait grows.
    pub multiplier: f64,
}

impl RetryPolicy {
    /// This many attempts, with waits that start at this and double.
    #[must_use]
    pub fn attempts(max_attempts: u32, initial_backoff: Duration) -> Self {
        let initial_backoff_ms = u64::try_from(initial_backoff.as_millis()).unwrap_or(u64::MAX);
        Self {
            max_attempts,
            initial_backoff_ms,
            max_backoff_ms: u64::MAX,
            multiplier: 2.0,
        }
    }

    /// The wait after this many attempts, before chance shortens it.
    #[must_use]
    pub fn backoff(&self, made: u32) -> Duration {
        // An hour is for ever: no call waits that long.
        const LONGEST: f64 = 3_600_000.0;
        #[expect(
            clippy::cast_precision_loss,
            reason = "whole milliseconds up to an hour"
        )]
        let (first, most) = (
            self.initial_backoff_ms as f64,
            (self.max_backoff_ms as f64).min(LONGEST),
        );
        let grown = first
            * self
                .multiplier
                .max(0.0)
                .powi(i32::try_from(made.saturating_sub(1)).unwrap_or(i32::MAX));
        let wait = if grown.is_finite() {
            grown.min(most)
        } else {
            most
        };
        Duration::from_secs_f64(wait.max(0.0) / 1000.0)
    }
}

/// `idempotency.key` as a script. It is one expression, possibly over several lines.
pub(super) fn key(origin: &Origin, node: &Node) -> Option<Script> {
    let node = node.at(&["idempotency", "key"])?;
    let expression = node.text().filter(|text| !text.trim().is_empty())?;
    let text = format!("def run(args):\n    return (\n{expression}\n    )\n");
    Some(Script {
        text: text.into(),
        place: Place::new(&origin.source, node.span),
        block: None,
    })
}

pub(super) fn retry(node: &Node) -> RetryPolicy {
    let count = |name: &str| natural(node.get(name));
    RetryPolicy {
        max_attempts: count("max_attempts")
            .map_or(1, |count| u32::try_from(count).unwrap_or(u32::MAX)),
        initial_backoff_ms: count("initial_backoff_ms").unwrap_or(0),
        max_backoff_ms: count("max_backoff_ms").unwrap_or(u64::MAX),
        multiplier: node.get("multiplier").and_then(Node::number).unwrap_or(1.0),
    }
}

pub(super) fn idempotent(node: &Node) -> bool {
    let natural = node.get("idempotency").and_then(Node::text) == Some("natural");
    natural
        || node.at(&["idempotency", "key"]).is_some()
        || flag(node.at(&["safety", "idempotent"]))
        || flag(node.at(&["annotations", "idempotentHint"]))
}
