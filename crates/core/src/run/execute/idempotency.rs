//! Idempotency: the keys of calls, and what is stored of calls that were done.

use super::inject::inject;
use super::script::value_of;
use crate::artifact::tool::Inject;
use crate::digest;
use crate::isolate;
use crate::refusal::{Class, Refusal};
use crate::registry::{Key, RegisteredTool};
use crate::run::context::Context;
use crate::run::in_flight::{Hold, lost};
use crate::run::outcome::BodyResult;
use crate::view::ActiveTool;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
            value_of(
                ctx,
                tool,
                script,
                arguments.clone(),
                ctx.ends().for_tool(tool),
            )
            .await?
        }
    };
    inject(ctx, tool, arguments).await?;
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

impl Hold {
    /// Stores the body's outcome if it did its work. If layers have yet to see it, stores only that
    /// the work was done.
    pub(in crate::run) fn body_ended(
        &self,
        ctx: &Context,
        tool: &RegisteredTool,
        outcome: &BodyResult,
    ) {
        let is_done = outcome
            .as_ref()
            .map_or_else(|failure| failure.is_done, |_| true);
        let Some(key) = self.key().filter(|_| is_done) else {
            return;
        };
        self.was_done.store(true, Ordering::SeqCst);
        let is_last = ctx.shared().host.around.is_empty();
        let stored = match is_last {
            true => with_stored_artifacts(ctx, outcome),
            false => lost(tool.name()),
        };
        ctx.shared().in_flight.stored.put(tool.name(), key, stored);
    }

    /// Stores what the layers made of the body's outcome. A retryable error is not stored: the
    /// work is done, and a retry would not run it again.
    pub(in crate::run) fn layers_ended(
        &self,
        ctx: &Context,
        tool: &RegisteredTool,
        outcome: &BodyResult,
    ) {
        let may_pass = outcome
            .as_ref()
            .is_err_and(|failure| failure.error.class == Class::Retryable);
        let is_theirs = !ctx.shared().host.around.is_empty()
            && self.was_done.load(Ordering::SeqCst)
            && !may_pass;
        if let Some(key) = self.key().filter(|_| is_theirs) {
            let stored = with_stored_artifacts(ctx, outcome);
            ctx.shared().in_flight.stored.put(tool.name(), key, stored);
        }
    }
}

/// The outcome with every artifact that the call stored.
fn with_stored_artifacts(ctx: &Context, outcome: &BodyResult) -> BodyResult {
    let mut outcome = outcome.clone();
    let output = match &mut outcome {
        Ok(output) => output,
        Err(failure) => &mut failure.rest,
    };
    ctx.append_stored_artifacts(&mut output.artifacts);
    outcome
}
