//! State that running calls share: places, keys, stored results, threads.

mod hold;
mod keys;
mod results;

pub(super) use hold::Hold;
pub(super) use results::lost;

use crate::slots::Slots;
use keys::Keys;
use results::IdempotencyCache;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use tokio::sync::Semaphore;

/// State that running calls share across versions of the project.
#[derive(Default)]
pub(crate) struct InFlight {
    /// Places for calls of this engine, if they are limited.
    pub(crate) places: Option<Arc<Slots>>,
    /// Keys held by calls that must not overlap.
    pub(crate) keys: Keys,
    /// Results of calls that are not made twice.
    pub(crate) stored: IdempotencyCache,
    /// Places for threads of blocking tools.
    pub(crate) threads: Threads,
    /// How many threads outlived their call.
    pub(crate) abandoned: AtomicUsize,
    /// How many events were raised after the end of their call.
    pub(crate) late: AtomicU64,
}

impl InFlight {
    /// Creates the state with places for `calls` calls at once; `None` means no limit.
    pub(crate) fn new(calls: Option<usize>) -> Self {
        Self {
            places: calls.map(Slots::new),
            ..Self::default()
        }
    }
}

/// Places for threads of blocking tools.
pub(crate) struct Threads(Arc<Semaphore>);

/// The most threads for blocking tools, abandoned ones included.
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
