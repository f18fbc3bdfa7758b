//! Doing it again, and not doing it again: retries of what failed, and stored results of what was done.

use super::context::{Context, object};
use super::deadline::deadline;
use super::execute::{Given, attempt};
use super::refusal::{Class, Code, Refusal};
use crate::artifact::tool::RetryPolicy;
use crate::registry::{Key, RegisteredTool};
use crate::result::Enforced;
use crate::tool::ToolOutput;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Runs the body as often as its policy says: while it fails in a way that may pass, and only if a repeat does no harm.
pub(super) async fn attempts(ctx: &Context, tool: &Arc<RegisteredTool>, arguments: Map<String, Value>) -> (Given, Enforced) {
    match tool.retries() {
        None => attempt(ctx, tool, arguments).await,
        Some(retry) => Box::pin(repeated(ctx, tool, arguments, retry)).await,
    }
}

async fn repeated(ctx: &Context, tool: &Arc<RegisteredTool>, mut arguments: Map<String, Value>, retry: RetryPolicy) -> (Given, Enforced) {
    let mut made = 1;
    loop {
        let last = made >= retry.max_attempts;
        let these = if last { std::mem::take(&mut arguments) } else { arguments.clone() };
        let (outcome, enforced) = attempt(ctx, tool, these).await;
        match &outcome {
            Err(failure) if !last && may_pass(&failure.error) && pause(ctx, tool, retry, made, &failure.error).await => made += 1,
            _ => return (outcome, enforced),
        }
    }
}

/// Whether the same call may succeed later. What was cancelled is not wanted any more.
fn may_pass(error: &Refusal) -> bool {
    error.class == Class::Retryable && error.code != Code::Cancelled
}

/// Waits before the next attempt; false when there is no time for one.
async fn pause(ctx: &Context, tool: &RegisteredTool, retry: RetryPolicy, made: u32, error: &Refusal) -> bool {
    let wait = jittered(retry.backoff(made));
    let end = deadline(ctx, tool).at;
    if tokio::time::Instant::now() + wait >= end {
        return false;
    }
    ctx.record("tool.retried", || {
        object(json!({
            "tool": tool.name(),
            "attempt": made + 1,
            "code": error.code.text(),
            "wait_ms": u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        }))
    });
    if wait.is_zero() {
        return !ctx.call().cancel.is_cancelled();
    }
    tokio::select! {
        biased;
        () = ctx.call().cancel.cancelled() => false,
        () = tokio::time::sleep(wait) => true,
    }
}

/// Between half and all of a wait, so that those who failed together do not come back together.
fn jittered(wait: Duration) -> Duration {
    let mut chance = [0; 2];
    // Without chance they come back together.
    let _ = getrandom::fill(&mut chance);
    wait / 2 + (wait / 2) * u32::from(u16::from_le_bytes(chance)) / u32::from(u16::MAX)
}

/// What makes a call the same as another one; nothing for a tool that does not say.
pub(super) async fn key(ctx: &Context, tool: &Arc<RegisteredTool>, arguments: &Map<String, Value>) -> Result<Option<String>, Refusal> {
    let value = match &tool.key {
        None => return Ok(None),
        Some(Key::By(names)) => names.iter().map(|name| arguments.get(name).cloned().unwrap_or_default()).collect(),
        Some(Key::Script(script)) => Box::pin(super::script::value_of(ctx, tool, script, arguments.clone(), deadline(ctx, tool))).await?,
    };
    if value.is_null() {
        return Ok(None);
    }
    Ok(Some(format!("{}:{}", tool.name(), crate::digest::of(&value))))
}

/// Results of calls that were done, by their keys. They live as long as the engine, and the oldest go first.
#[derive(Debug, Default)]
pub(crate) struct Stored(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Arc<str>, (ToolOutput, usize)>,
    order: VecDeque<Arc<str>>,
    bytes: usize,
}

/// Results that are kept.
const MAX_STORED: usize = 10_000;
/// Bytes of them.
const MAX_BYTES: usize = 64 << 20;

impl Stored {
    /// The result of the call with this key, marked as one that was stored.
    pub(super) fn get(&self, key: &str) -> Option<ToolOutput> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut output, _) = kept.by_key.get(key)?.clone();
        output.metadata.insert("repeated".into(), json!(true));
        Some(output)
    }

    pub(super) fn put(&self, key: String, output: &ToolOutput) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key: Arc<str> = key.into();
        let bytes = key.len() + output.weight();
        if let Some((_, before)) = kept.by_key.insert(Arc::clone(&key), (output.clone(), bytes)) {
            kept.bytes -= before;
        } else {
            kept.order.push_back(key);
        }
        kept.bytes += bytes;
        while kept.order.len() > MAX_STORED || kept.bytes > MAX_BYTES {
            let Some(oldest) = kept.order.pop_front() else { break };
            if let Some((_, bytes)) = kept.by_key.remove(&oldest) {
                kept.bytes -= bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_results_are_bounded_and_the_newest_stay() {
        let stored = Stored::default();
        let large = ToolOutput::text("x".repeat(1 << 20));
        for index in 0..100 {
            stored.put(format!("t:{index}"), &large);
        }
        assert!(stored.get("t:0").is_none());
        assert_eq!(stored.get("t:99").expect("the newest").metadata["repeated"], true);
        assert!(stored.0.lock().expect("kept").bytes <= MAX_BYTES);
    }

    #[test]
    fn waits_grow_up_to_their_cap_and_differ_by_chance() {
        let retry = RetryPolicy { max_attempts: 9, initial_backoff_ms: 100, max_backoff_ms: 1000, multiplier: 3.0 };
        let waits: Vec<u128> = (1..5).map(|made| retry.backoff(made).as_millis()).collect();
        assert_eq!(waits, [100, 300, 900, 1000]);
        let chosen: std::collections::HashSet<Duration> = (0..50).map(|_| jittered(Duration::from_secs(1))).collect();
        assert!(chosen.len() > 10 && chosen.iter().all(|wait| (500..=1000).contains(&wait.as_millis())));
    }
}
