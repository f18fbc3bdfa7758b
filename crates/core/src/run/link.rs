//! One middleware of the chain, failing closed.

use super::before::Ask;
use super::chain::record_decision;
use super::context::Context;
use super::deadline::{Deadline, deadline};
use super::refusal::{Code, Refusal};
use crate::depth::too_deep;
use crate::isolate::{Isolated, caught};
use crate::middleware::{Decision, Judged, Known, Middleware, Reply, Seen, Step};
use crate::registry::RegisteredTool;
use crate::tool::ToolOutput;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time that a call is put off for.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// How often one middleware may put a call off. Each time is an event, and one that never decides must not fill the record.
const MOST_DEFERRED: usize = 1000;

/// Asks a middleware about a call, again after each time that it defers. Gives the arguments, if it changed them; whom it wants asked is added.
pub(super) async fn before(
    ctx: &Context,
    tool: &RegisteredTool,
    middleware: &Known<dyn Middleware>,
    arguments: &Map<String, Value>,
    asks: &mut Vec<Ask>,
) -> Result<Option<Map<String, Value>>, Refusal> {
    let mut judged = Judged { seen: seen(ctx, tool), arguments, changed: None, is_too_deep: false };
    let (mut until, mut deferred) = (None, 0);
    loop {
        let this = &mut judged;
        let name = &*middleware.name;
        let decision = match caught(move || middleware.given.before(this)) {
            Some(Step::Now(decision)) => Some(decision),
            Some(Step::Later(answer)) => {
                let limit = *until.get_or_insert_with(|| deadline(ctx, tool));
                Box::pin(in_time(ctx, tool, limit, Isolated::new(answer))).await.map_err(|refusal| refusal.detail("hook", name))?
            }
            None => None,
        };
        let decided = |action: &str, reason: &str| record_decision(ctx, name, "tool.pre", action, reason);
        match decision {
            Some(Decision::Allow | Decision::Ask(_)) if judged.is_too_deep => {
                decided("failed", "its arguments nest too deep");
                let message = format!("middleware `{name}` gave arguments that are {}", too_deep());
                return Err(Refusal::new(Code::ArgsMalformed, message).help("a person must mend the host's code").detail("hook", name));
            }
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
            Some(Decision::Defer(_)) if deferred == MOST_DEFERRED => {
                decided("failed", "it put the call off too often");
                let message = format!("middleware `{name}` put the call off {MOST_DEFERRED} times, and that is as often as it may");
                return Err(Refusal::new(Code::Limit, message).help("try again later").detail("hook", name));
            }
            Some(Decision::Defer(wait)) => {
                deferred += 1;
                decided("defer", "");
                let limit = *until.get_or_insert_with(|| deadline(ctx, tool));
                Box::pin(defer(ctx, name, wait.max(SHORTEST_WAIT), limit)).await?;
            }
            None => {
                decided("failed", "it panicked");
                return Err(panicked(name));
            }
        }
    }
}

/// Waits, if the call has the time.
async fn defer(ctx: &Context, name: &str, wait: Duration, limit: Deadline) -> Result<(), Refusal> {
    let late = || {
        let message = format!("middleware `{name}` put the call off, for longer than it has");
        let after = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Refusal::new(Code::Limit, message).help("try again later").detail("hook", name).detail("retry_after_ms", after)
    };
    let until = Instant::now().checked_add(wait).filter(|until| *until < limit.at).ok_or_else(late)?;
    if ctx.is_rehearsed() {
        return Err(late());
    }
    tokio::select! {
        biased;
        () = ctx.call().cancel.cancelled() => Err(Refusal::new(Code::Cancelled, format!("cancelled while middleware `{name}` put it off"))),
        () = tokio::time::sleep_until(until) => Ok(()),
    }
}

/// Shows a result to a middleware; says whether it changed anything. One that panics, or does not end, withholds the result.
pub(super) async fn after(
    ctx: &Context,
    tool: &RegisteredTool,
    middleware: &Known<dyn Middleware>,
    output: &mut ToolOutput,
    error: &mut Option<Refusal>,
) -> bool {
    let seen = seen(ctx, tool);
    let mut reply = Reply { output, error, changed: false };
    let (call, this) = (&seen, &mut reply);
    let name = &*middleware.name;
    let wrong = match caught(move || middleware.given.after(call, this)) {
        Some(Step::Now(())) => None,
        Some(Step::Later(answer)) => match Box::pin(in_time(ctx, tool, deadline(ctx, tool), Isolated::new(answer))).await {
            Ok(Some(())) => None,
            Ok(None) => Some(("it panicked", panicked(name))),
            Err(refusal) => Some(("it did not end in time", refusal.detail("hook", name))),
        },
        None => Some(("it panicked", panicked(name))),
    };
    if let Some((why, refusal)) = wrong {
        record_decision(ctx, name, "tool.post", "failed", why);
        (*output, *error) = (ToolOutput::default(), Some(refusal));
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

/// What comes of the host's own code, if it comes before the call must be over.
pub(super) async fn in_time<T>(ctx: &Context, tool: &RegisteredTool, limit: Deadline, work: impl Future<Output = T>) -> Result<T, Refusal> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = ctx.call().cancel.cancelled() => {
            Err(Refusal::new(Code::Cancelled, format!("`{}`: cancelled while the host's middleware was at work", tool.name())))
        }
        () = tokio::time::sleep_until(limit.at) => Err(limit.refusal(tool, "was not let go by the host's middleware")),
    }
}

fn panicked(name: &str) -> Refusal {
    Refusal::new(Code::HookFailed, format!("middleware `{name}` panicked, so nothing passes it"))
        .help("a person must mend the host's code")
        .detail("hook", name)
}
