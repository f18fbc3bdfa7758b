//! The record: what happened, kept.

use crate::event::Event;
use std::sync::{Mutex, PoisonError};

/// Keeps events, in the order they are appended. The one place that drives a call appends its
/// events here before anything depends on them; sinks only listen.
pub trait Record: Send + Sync {
    /// Appends an event, and says where the record stands then. An error refuses a call with
    /// effects before its body runs. The events of one call come in their order; those of calls
    /// that run at once may come out of the order of their numbers.
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

/// A record in memory, for tests and for hosts without a disk. When it is full it takes no more,
/// and calls with effects are refused.
#[derive(Debug)]
pub struct MemoryRecord {
    events: Mutex<Vec<Event>>,
    most: usize,
}

impl MemoryRecord {
    /// A record of so many events.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            events: Mutex::default(),
            most,
        }
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Record for MemoryRecord {
    fn append(&self, event: &Event) -> Result<Head, StoreError> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() >= self.most {
            return Err(StoreError(format!(
                "the record is full, with {} events",
                self.most
            )));
        }
        events.push(event.clone());
        let sequence = u64::try_from(events.len()).unwrap_or(u64::MAX);
        Ok(Head { sequence })
    }
}
