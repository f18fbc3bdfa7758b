//! Idempotency: the keys of calls, and the stored results of calls that were done.

use super::inject::inject;
use super::script::value_of;
use super::secret;
use super::{BodyResult, Failure};
use crate::artifact::tool::Inject;
use crate::digest;
use crate::isolate;
use crate::refusal::{Code, Refusal};
use crate::registry::{Key, RegisteredTool};
use crate::result::encoded_len;
use crate::run::context::Context;
use crate::run::deadline::deadline;
use crate::view::ActiveTool;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// The key that calls share if they are the same; `None` for a call without one.
///
/// Also injects values, because they are part of the key: no caller gets an answer that was made
/// for another.
pub(in crate::run) async fn key(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    arguments: &mut Map<String, Value>,
) -> Result<Option<String>, Refusal> {
    let value = match &tool.key {
        None => Value::Null,
        Some(Key::By(names)) => by(names, arguments),
        Some(Key::Script(script)) => {
            value_of(ctx, tool, script, arguments.clone(), deadline(ctx, tool)).await?
        }
    };
    inject(ctx, tool, arguments)?;
    secret::inject(ctx, tool, arguments).await?;
    if value.is_null() {
        return Ok(None);
    }
    let known = injected(tool, arguments, |inject| {
        matches!(
            inject,
            Inject::SessionId | Inject::Mode | Inject::State(_) | Inject::Host(_)
        )
    });
    // The run's context is opaque. If nothing injected identifies the owner, the session does.
    let says_whose = tool
        .tool
        .inject
        .iter()
        .any(|(_, inject)| matches!(inject.value, Inject::Host(_) | Inject::Secret(_)));
    let session =
        (ctx.call().context.is_given() && !says_whose).then(|| ctx.call().session_id.as_str());
    let key = format!(
        "{}:{}",
        tool.name(),
        digest::of_worth(&json!([value, known, session]))
    );
    for (name, _) in tool
        .tool
        .inject
        .iter()
        .filter(|(_, inject)| inject.value == Inject::IdempotencyKey)
    {
        arguments.insert(name.clone(), key.as_str().into());
    }
    // The tool sees the key above and may pass it on, so the digest of secrets is added only now.
    let secrets = injected(tool, arguments, |inject| {
        matches!(inject, Inject::Secret(_))
    });
    Ok(Some(format!("{key} {}", digest::of(&secrets))))
}

/// The values of a key; null if all are missing.
fn by(names: &[String], arguments: &Map<String, Value>) -> Value {
    let values: Vec<Value> = names
        .iter()
        .map(|name| arguments.get(name).cloned().unwrap_or_default())
        .collect();
    if values.iter().all(Value::is_null) {
        Value::Null
    } else {
        Value::Array(values)
    }
}

/// The injected values of some kinds. Ids of the call and the run identify an attempt, not its
/// owner.
fn injected(
    tool: &RegisteredTool,
    arguments: &Map<String, Value>,
    counts: impl Fn(&Inject) -> bool,
) -> Value {
    let counted = tool
        .tool
        .inject
        .iter()
        .filter(|(_, inject)| counts(&inject.value));
    Value::Object(
        counted
            .filter_map(|(name, _)| arguments.get_key_value(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    )
}

/// The stored outcome for this key, marked as repeated. It lists only artifacts that the session
/// may read.
pub(in crate::run) async fn stored(
    ctx: &Context,
    tool: &RegisteredTool,
    key: &str,
) -> Option<BodyResult> {
    let mut outcome = ctx.shared().in_flight.stored.get(key)?;
    let output = match &mut outcome {
        Ok(output) => output,
        Err(failure) => &mut failure.rest,
    };
    output.metadata.insert("repeated".into(), json!(true));
    if !output.artifacts.is_empty() {
        let blobs = ctx
            .shared()
            .session_blobs(&ctx.call().session_id, tool.name());
        let listed = std::mem::take(&mut output.artifacts);
        let all = listed.len();
        let looked = isolate::blocking(move || {
            listed
                .into_iter()
                .filter(|artifact| blobs.find(&artifact.id).is_ok())
                .collect()
        });
        output.artifacts = tokio::select! {
            biased;
            found = looked => found.unwrap_or_default(),
            () = ctx.call().cancel.cancelled() => Vec::new(),
            () = tokio::time::sleep_until(ctx.ends().at) => Vec::new(),
        };
        if output.artifacts.len() < all {
            output.metadata.insert(
                "artifacts_left_out".into(),
                json!(all - output.artifacts.len()),
            );
        }
    }
    Some(outcome)
}

/// Stands in for a result that is gone, so that the effect does not happen again.
pub(in crate::run) fn lost(tool: &str) -> BodyResult {
    let message = format!(
        "`{tool}` was done by an earlier call with the same key, whose result is not there any more; it is not done again"
    );
    Err(Refusal::new(Code::Failed, message).into())
}

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
    fn get(&self, key: &str) -> Option<BodyResult> {
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
