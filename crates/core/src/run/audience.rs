//! Who receives the events of calls.

use crate::event::{EventRef, Listener, Payloads};
use crate::isolate::caught;
use crate::store::{Record, StoreError};
use std::sync::Arc;
use tokio::time::Instant;

/// Who receives events: the record, then the listeners.
#[derive(Clone, Default)]
pub(crate) struct Audience {
    pub(crate) record: Option<Arc<dyn Record>>,
    pub(crate) listeners: Arc<[Listener]>,
}

impl Audience {
    pub(super) fn is_empty(&self) -> bool {
        self.listeners.is_empty() && self.record.is_none()
    }

    /// Appends an event to the record, then tells the listeners. The record gets no payloads.
    pub(crate) fn deliver<'e>(
        &self,
        event: &EventRef<'_>,
        with_payload: impl Fn() -> &'e EventRef<'e>,
        until: Instant,
    ) -> Result<(), StoreError> {
        let appended = self.record.as_ref().map_or(Ok(()), |record| {
            let panicked = || Err(StoreError("the record panicked".to_owned()));
            let head = caught(|| record.append(&event.to_event())).unwrap_or_else(panicked);
            head.map(drop)
        });
        for listener in &*self.listeners {
            match listener.payloads() {
                Payloads::LeftOut => listener.take(event, until),
                Payloads::Included => listener.take(with_payload(), until),
            }
        }
        appended
    }
}
