//! What a call holds exclusively: its key, the values and paths that no other call may use at the
//! same time, and the place of a blocking tool.

use crate::slots::Held;
use std::sync::atomic::{AtomicBool, Ordering};

/// Owned by the call and by its thread, if one is left behind, until both have ended.
pub(in crate::run) struct Hold {
    key: Option<String>,
    _alone: Vec<Held>,
    pub(in crate::run) was_done: AtomicBool,
    was_left: AtomicBool,
}

impl Hold {
    pub(in crate::run) fn new(key: Option<String>, alone: Vec<Held>) -> Self {
        Self {
            key,
            _alone: alone,
            was_done: AtomicBool::new(false),
            was_left: AtomicBool::new(false),
        }
    }

    pub(in crate::run) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Records that a thread of the call outlives it.
    pub(in crate::run) fn leave(&self) {
        self.was_left.store(true, Ordering::SeqCst);
    }

    /// Whether a thread of the call outlives it. Then no retry may start beside it.
    pub(in crate::run) fn was_left(&self) -> bool {
        self.was_left.load(Ordering::SeqCst)
    }
}
