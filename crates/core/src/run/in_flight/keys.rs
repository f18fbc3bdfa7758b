//! The keys that calls hold or wait for.

use crate::slots::{Slots, Waits};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One place for each key that a call holds or waits for.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    known: Mutex<Known>,
    /// Which calls hold and wait for keys and other places.
    pub(in crate::run) waits: Arc<Waits>,
}

#[derive(Debug, Default)]
struct Known {
    slots: HashMap<String, Weak<Slots>>,
    /// The number of keys at which the unused ones are dropped.
    full: usize,
}

/// Unused keys are dropped once there are this many, or twice as many as were in use the last time.
const MANY: usize = 1024;

impl Keys {
    pub(in crate::run) fn of(&self, key: String) -> Arc<Slots> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slots) = known.slots.get(&key).and_then(Weak::upgrade) {
            return slots;
        }
        if known.slots.len() >= known.full.max(MANY) {
            known.slots.retain(|_, slots| slots.strong_count() > 0);
            known.full = 2 * known.slots.len();
        }
        let slots = Slots::new(1);
        known.slots.insert(key, Arc::downgrade(&slots));
        slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn keys_that_are_held_are_not_gone_through_for_each_new_one_and_the_others_are_forgotten() {
        let keys = Keys::default();
        let started = Instant::now();
        let held: Vec<Arc<Slots>> = (0..60_000)
            .map(|key| keys.of(format!("held {key}")))
            .collect();
        // Scanning all keys for each new one would take minutes.
        assert!(
            started.elapsed() < std::time::Duration::from_secs(10),
            "{:?}",
            started.elapsed()
        );
        drop(held);
        (0..200_000).for_each(|key| drop(keys.of(format!("later {key}"))));
        assert!(keys.known.lock().expect("keys").slots.len() <= MANY);
    }
}
