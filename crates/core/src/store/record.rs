//! The record: what happened, kept.

use crate::event::Event;

/// Keeps events, in the order they are appended. The one place that drives a call appends its
/// events here before anything depends on them; sinks only listen.
pub trait Record: Send + Sync {
    /// Appends an event, and says where the record stands then. An error refuses a call with
    /// effects before its body runs.
    fn append(&self, event: &Event) -> Result<Head, StoreError>;
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many events it has.
    pub sequence: u64,
}

/// Why a store could not keep something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);
