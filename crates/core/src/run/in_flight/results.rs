//! The stored results of calls that are not made twice.

use crate::refusal::{Code, Refusal};
use crate::result::encoded_len;
use crate::run::outcome::{BodyResult, Failure};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// The outcomes of calls, by key. It lives as long as the engine, and drops the oldest first.
#[derive(Debug, Default)]
pub(crate) struct IdempotencyCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Arc<str>, (BodyResult, usize)>,
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

/// The most results kept.
const MAX_STORED: usize = 10_000;
/// The most bytes of all results.
const MAX_BYTES: usize = 64 << 20;
/// The most bytes of one result, as many as a script may return. For a longer one, only the fact
/// that it was done is kept.
const MAX_ONE: usize = 16 << 20;

impl IdempotencyCache {
    pub(in crate::run) fn get(&self, key: &str) -> Option<BodyResult> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.by_key.get(key).map(|(outcome, _)| outcome.clone())
    }

    pub(in crate::run) fn put(&self, tool: &str, key: &str, outcome: BodyResult) {
        let outcome = if weight(&outcome) > MAX_ONE {
            lost(tool)
        } else {
            outcome
        };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key: Arc<str> = key.into();
        let bytes = key.len() + weight(&outcome);
        if let Some((_, before)) = kept.by_key.insert(Arc::clone(&key), (outcome, bytes)) {
            kept.bytes -= before;
        } else {
            kept.order.push_back(key);
        }
        kept.bytes += bytes;
        while kept.order.len() > MAX_STORED || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.order.pop_front() else {
                break;
            };
            if let Some((_, bytes)) = kept.by_key.remove(&oldest) {
                kept.bytes -= bytes;
            }
        }
    }
}

fn weight(outcome: &BodyResult) -> usize {
    match outcome {
        Ok(output) => output.weight(),
        Err(Failure { error, rest, .. }) => {
            error.message.len() + encoded_len(&error.details) + rest.weight()
        }
    }
}

/// Stands in for a result that is gone, so that the effect does not happen again.
pub(in crate::run) fn lost(tool: &str) -> BodyResult {
    let message = format!(
        "an earlier call with the same key already did `{tool}`, and its result is gone; it is not done again"
    );
    Err(Refusal::new(Code::Failed, message).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolOutput;

    #[test]
    fn what_failures_say_and_leave_behind_is_counted_and_counted_once() {
        const LONG: usize = 1 << 20;
        let long = || "x".repeat(LONG);
        let refusal = || Refusal::new(Code::Failed, "no");
        for (outcome, what) in [
            (Err(Refusal::new(Code::Failed, long()).into()), "words"),
            (Err(refusal().detail("long", long()).into()), "details"),
            (
                Err(Failure::with(refusal(), ToolOutput::text(long()))),
                "what is left",
            ),
            (Ok(Box::new(ToolOutput::value(long()))), "a value"),
        ] {
            let stored = IdempotencyCache::default();
            let bytes = || stored.0.lock().expect("kept").bytes;
            stored.put("t", "key", outcome);
            let first = bytes();
            assert!((LONG..LONG + 1000).contains(&first), "{what}: {first}");
            stored.put("t", "key", lost("t"));
            assert!(
                bytes() < 1000,
                "{what}: what takes its place is what counts"
            );
            (0..100).for_each(|index| {
                stored.put(
                    "t",
                    &index.to_string(),
                    Err(Refusal::new(Code::Failed, long()).into()),
                )
            });
            assert!(
                bytes() <= MAX_BYTES && stored.get("key").is_none() && stored.get("99").is_some(),
                "{what}"
            );
        }
    }

    #[test]
    fn stored_results_are_bounded_and_the_newest_stay_and_of_a_huge_one_that_it_was_done() {
        let stored = IdempotencyCache::default();
        let put = |key: &str, bytes: usize| {
            stored.put("t", key, Ok(Box::new(ToolOutput::text("x".repeat(bytes)))))
        };
        for index in 0..100 {
            put(&format!("t:{index}"), 1 << 20);
        }
        assert!(
            stored.get("t:0").is_none()
                && stored.get("t:99").is_some_and(|outcome| outcome.is_ok())
        );
        put("huge", MAX_ONE + 1);
        assert!(
            stored.get("huge").is_some_and(|outcome| outcome.is_err())
                && stored.get("t:99").is_some()
        );
        assert!(stored.0.lock().expect("kept").bytes <= MAX_BYTES);
    }
}
