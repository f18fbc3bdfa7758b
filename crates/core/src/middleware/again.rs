//! Stops a model that repeats the same call.

use super::{Decision, Judged, Middleware, Step};
use crate::digest;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// Refuses a call that its run already made too often with the same arguments.
#[derive(Debug)]
pub struct NoRepeats {
    most: u32,
    made: Mutex<Made>,
}

#[derive(Debug, Default)]
struct Made {
    count: HashMap<String, u32>,
    order: VecDeque<String>,
}

/// How many calls are remembered; the oldest are forgotten.
const MAX_REMEMBERED: usize = 10_000;

impl NoRepeats {
    /// Allows the same call this many times in a run.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self {
            most,
            made: Mutex::default(),
        }
    }

    fn count(&self, key: String) -> u32 {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = made.count.get_mut(&key) {
            *count += 1;
            return *count;
        }
        made.order.push_back(key.clone());
        made.count.insert(key, 1);
        if made.order.len() > MAX_REMEMBERED
            && let Some(oldest) = made.order.pop_front()
        {
            made.count.remove(&oldest);
        }
        1
    }
}

impl Middleware for NoRepeats {
    fn name(&self) -> &str {
        "no_repeats"
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        let seen = call.call();
        if seen.is_rehearsed() {
            return Decision::Allow.into();
        }
        let key = format!(
            "{} {} {}",
            seen.call().run_id,
            seen.tool().name(),
            digest::of_object(call.arguments())
        );
        let made = self.count(key);
        if made <= self.most {
            return Decision::Allow.into();
        }
        Decision::Refuse(format!(
            "the same call was made {} times in this run; try something else",
            made - 1
        ))
        .into()
    }
}
