//! One middleware of the chain, failing closed.

use super::before::Ask;
use super::chain::record_decision;
use super::context::Context;
use super::deadline::deadline;
use super::refusal::{Code, Refusal};
use crate::middleware::{Decision, Judged, Later, Middleware, Reply, Seen, Step};
use crate::registry::RegisteredTool;
use crate::tool::ToolOutput;
use serde_json::{Map, Value};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;
use tokio::time::Instant;

/// Asks a middleware about a call, again after each time that it defers. Gives the arguments, if it changed them; whom it wants asked is added.
pub(super) async fn before(
    ctx: &Context,
    tool: &RegisteredTool,
    middleware: &dyn Middleware,
    arguments: &Map<String, Value>,
    asks: &mut Vec<Ask>,
) -> Result<Option<Map<String, Value>>, Refusal> {
    let mut judged = Judged { seen: seen(ctx, tool), arguments, changed: None };
    loop {
        let this = &mut judged;
        let decision = match caught(move || middleware.before(this)) {
            Some(Step::Now(decision)) => Some(decision),
            Some(Step::Later(answer)) => unless_panics(answer).await,
            None => None,
        };
        let name = middleware.name();
        let decided = |action: &str, reason: &str| record_decision(ctx, name, "tool.pre", action, reason);
        match decision {
            Some(Decision::Allow) => {
                if judged.changed.is_some() {
                    decided("modify", "");
                } else if ctx.is_rehearsed() {
                    decided("allow", "");
                }
                return Ok(judged.changed);
            }
            Some(Decision::Ask(reason)) => {
                decided("ask", &reason);
                asks.push(Ask { because: format!("middleware `{name}`: {reason}"), place: None });
                return Ok(judged.changed);
            }
            Some(Decision::Refuse(reason)) => {
                decided("block", &reason);
                let message = format!("middleware `{name}` blocked the call: {reason}");
                return Err(Refusal::new(Code::HookBlocked, message).help("the policy is in the host's own code").detail("hook", name));
            }
            Some(Decision::Control(control)) => {
                decided("block", control.reason());
                let message = format!("middleware `{name}`: {}", control.reason());
                return Err(Refusal::new(Code::Interrupted, message).detail("hook", name).control(control));
            }
            Some(Decision::Defer(wait)) => {
                decided("defer", "");
                Box::pin(defer(ctx, tool, name, wait)).await?;
            }
            None => {
                decided("failed", "it panicked");
                return Err(panicked(name));
            }
        }
    }
}

/// Waits, if the call has the time.
async fn defer(ctx: &Context, tool: &RegisteredTool, name: &str, wait: Duration) -> Result<(), Refusal> {
    let late = || {
        let message = format!("middleware `{name}` put the call off, for longer than it has");
        let after = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Refusal::new(Code::Limit, message).help("try again later").detail("hook", name).detail("retry_after_ms", after)
    };
    let until = Instant::now().checked_add(wait).filter(|until| *until < deadline(ctx, tool).at).ok_or_else(late)?;
    if ctx.is_rehearsed() {
        return Err(late());
    }
    tokio::select! {
        biased;
        () = ctx.call().cancel.cancelled() => Err(Refusal::new(Code::Cancelled, format!("cancelled while middleware `{name}` put it off"))),
        () = tokio::time::sleep_until(until) => Ok(()),
    }
}

/// Shows a result to a middleware; says whether it changed anything. One that panics withholds the result.
pub(super) async fn after(
    ctx: &Context,
    tool: &RegisteredTool,
    middleware: &dyn Middleware,
    output: &mut ToolOutput,
    error: &mut Option<Refusal>,
) -> bool {
    let seen = seen(ctx, tool);
    let mut reply = Reply { output, error, changed: false };
    let (call, this) = (&seen, &mut reply);
    let done = match caught(move || middleware.after(call, this)) {
        Some(Step::Now(())) => Some(()),
        Some(Step::Later(answer)) => unless_panics(answer).await,
        None => None,
    };
    let name = middleware.name();
    if done.is_none() {
        record_decision(ctx, name, "tool.post", "failed", "it panicked");
        (*output, *error) = (ToolOutput::default(), Some(panicked(name)));
        return true;
    }
    let changed = reply.changed;
    if changed {
        record_decision(ctx, name, "tool.post", "modify", "");
    }
    changed
}

fn seen<'a>(ctx: &'a Context, tool: &'a RegisteredTool) -> Seen<'a> {
    Seen { call: ctx.call(), tool, rehearsed: ctx.is_rehearsed() }
}

/// What comes of it; nothing when it panics.
fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// What comes of it in time; nothing when it panics.
async fn unless_panics<T>(mut answer: Later<'_, T>) -> Option<T> {
    poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx))) {
        Ok(Poll::Ready(answer)) => Poll::Ready(Some(answer)),
        Ok(Poll::Pending) => Poll::Pending,
        Err(_) => Poll::Ready(None),
    })
    .await
}

fn panicked(name: &str) -> Refusal {
    Refusal::new(Code::HookFailed, format!("middleware `{name}` panicked, so nothing passes it"))
        .help("a person must mend the host's code")
        .detail("hook", name)
}
