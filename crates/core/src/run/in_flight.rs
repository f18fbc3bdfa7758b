//! What calls in flight share: places, keys, stored results, threads.

use super::execute::{IdempotencyCache, Keys};
use crate::slots::Slots;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use tokio::sync::Semaphore;

/// What calls in flight share, whichever version of the project they began with.
#[derive(Default)]
pub(crate) struct InFlight {
    /// Places for calls of this engine, when they are limited.
    pub(crate) places: Option<Arc<Slots>>,
    /// What calls of tools that must not overlap hold.
    pub(crate) keys: Keys,
    /// Results of calls that are not made twice.
    pub(crate) stored: IdempotencyCache,
    /// Places for threads of tools that block.
    pub(crate) threads: Threads,
    /// Threads whose call ended without them.
    pub(crate) abandoned: AtomicUsize,
    /// Events that they, or others, raised after the end of their call.
    pub(crate) late: AtomicU64,
}

impl InFlight {
    /// With places for so many calls at once; without a number, for as many as are made.
    pub(crate) fn new(calls: Option<usize>) -> Self {
        Self {
            places: calls.map(Slots::new),
            ..Self::default()
        }
    }
}

/// Places for threads of tools that block.
pub(crate) struct Threads(Arc<Semaphore>);

/// Threads for tools that block, those that were left behind included.
const MAX_THREADS: usize = 256;

impl Default for Threads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_THREADS)))
    }
}

impl Threads {
    pub(crate) fn places(&self) -> Arc<Semaphore> {
        Arc::clone(&self.0)
    }
}
