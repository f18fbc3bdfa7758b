//! The values of secrets, learned as they are read.

use super::MIN_VALUE;
use super::matcher::{MatcherRef, SecretMatcher, shapes_only};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// How many values that were read for calls are remembered. A file or a command may yield another
/// value each time, and redaction must not become slower with each.
const MAX_FRESH: usize = 128;

/// The values to redact. Those read when a project is loaded stay, since an old key is still a key.
/// Of those read for calls, the last ones stay.
#[derive(Default)]
pub(crate) struct SecretValues {
    any: AtomicBool,
    learned: RwLock<LearnedValues>,
}

#[derive(Default)]
struct LearnedValues {
    values: Vec<Vec<u8>>,
    /// Values read for calls, oldest first.
    fresh: Vec<Vec<u8>>,
    /// `None` until the first value is learned.
    matcher: Option<Arc<SecretMatcher>>,
}

impl SecretValues {
    /// Redacts this value from now on, unless it is too short.
    pub(crate) fn learn(&self, value: &[u8]) -> Result<(), TooShort> {
        self.add(value, |learned, value| {
            let is_new = !learned.values.iter().any(|known| known == value);
            learned.values.extend(is_new.then(|| value.to_vec()));
            is_new
        })
    }

    /// Redacts a value that was read for a call from now on.
    pub(crate) fn learn_fresh(&self, value: &[u8]) -> Result<(), TooShort> {
        self.add(value, |learned, value| {
            if learned.values.iter().any(|known| known == value) {
                return false;
            }
            if let Some(place) = learned.fresh.iter().position(|known| known == value) {
                learned.fresh[place..].rotate_left(1);
                return false;
            }
            let surplus = (learned.fresh.len() + 1).saturating_sub(MAX_FRESH);
            learned.fresh.drain(..surplus);
            learned.fresh.push(value.to_vec());
            true
        })
    }

    /// Adds a value with `add`, which returns whether it was new.
    fn add(
        &self,
        value: &[u8],
        add: impl FnOnce(&mut LearnedValues, &[u8]) -> bool,
    ) -> Result<(), TooShort> {
        // A program may print it without the line end.
        let value = value.trim_ascii();
        if value.len() < MIN_VALUE {
            return Err(TooShort);
        }
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        if add(&mut learned, value) {
            let all: Vec<&[u8]> = learned
                .values
                .iter()
                .chain(&learned.fresh)
                .map(Vec::as_slice)
                .collect();
            let matcher = SecretMatcher::new(&all);
            learned.matcher = Some(Arc::new(matcher));
            self.any.store(true, Ordering::Release);
        }
        Ok(())
    }

    pub(super) fn matcher(&self) -> MatcherRef {
        if self.any.load(Ordering::Acquire)
            && let Some(matcher) = &self
                .learned
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .matcher
        {
            return MatcherRef::WithValues(Arc::clone(matcher));
        }
        MatcherRef::ShapesOnly(shapes_only())
    }
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValues")
    }
}

/// The value is so short that it occurs in any text by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooShort;
