//! Runs a body written in Rust, inline or on its own thread. A panic or a tool that never ends
//! affects only its own call.

use super::rust_call::RustCall;
use super::settled;
use crate::isolate::{Isolated, caught};
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::run::context::Context;
use crate::run::deadline::Deadline;
use crate::run::in_flight::Hold;
use crate::run::outcome::{BodyResult, Failure, describe, judged};
use crate::tool::{Answered, AnyTool, Runs};
use crate::view::ActiveTool;
use serde_json::{Map, Value};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The body's answer; `None` if it panicked.
type Ended = Option<Answered>;

pub(in crate::run) async fn run_body(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    body: &Arc<dyn AnyTool>,
    arguments: &mut Map<String, Value>,
    deadline: Deadline,
) -> BodyResult {
    if ctx.call().cancel.is_cancelled() {
        return Err(cancelled(tool).into());
    }
    match tool.runs {
        Runs::Inline => answered(tool, inline(ctx, tool, body, arguments, deadline).await?),
        Runs::Blocking => {
            Box::pin(on_thread(
                ctx,
                tool,
                body,
                std::mem::take(arguments),
                deadline,
            ))
            .await
        }
    }
}

/// The result of a body that ended.
fn answered(tool: &RegisteredTool, ended: Ended) -> BodyResult {
    match ended {
        Some(Ok(output)) if tool.is_host() => Ok(output),
        // A body that serves an artifact answers as a script would.
        Some(Ok(output)) => judged(tool, output.value.unwrap_or_default()),
        Some(Err(error)) if error.is_done() => {
            Err(Failure::when_done(error.into_refusal(tool.name())))
        }
        Some(Err(error)) => Err(error.into_refusal(tool.name()).into()),
        None => Err(Refusal::new(
            Code::Failed,
            describe(tool, Code::Failed, "the body panicked"),
        )
        .into()),
    }
}

/// Polls the body here. Most bodies finish at once and need no timer.
async fn inline(
    ctx: &Context,
    tool: &RegisteredTool,
    body: &Arc<dyn AnyTool>,
    arguments: &mut Map<String, Value>,
    deadline: Deadline,
) -> Result<Ended, Refusal> {
    let on = RustCall {
        ctx,
        tool,
        deadline: deadline.at,
    };
    let Some(mut answer) = caught(|| body.call(&on, std::mem::take(arguments))).map(Isolated::new)
    else {
        return Ok(None);
    };
    if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(Pin::new(&mut answer).poll(cx))).await {
        return Ok(ended);
    }
    Box::pin(waited_for(ctx, tool, answer, deadline)).await
}

/// Waits for a body that has started.
async fn waited_for(
    ctx: &Context,
    tool: &RegisteredTool,
    answer: Isolated<'_, Answered>,
    deadline: Deadline,
) -> Result<Ended, Refusal> {
    tokio::select! {
        biased;
        ended = answer => Ok(ended),
        () = ctx.call().cancel.cancelled() => Err(cancelled(tool)),
        () = tokio::time::sleep_until(deadline.at) => Err(deadline.refusal(tool, "did not finish")),
    }
}

/// Runs the body on a thread. If the call ends first, the thread is abandoned, and counted until it
/// ends.
async fn on_thread(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    body: &Arc<dyn AnyTool>,
    arguments: Map<String, Value>,
    deadline: Deadline,
) -> BodyResult {
    let in_flight = &ctx.shared().in_flight;
    let places = in_flight.threads.places();
    let place = tokio::select! {
        biased;
        place = Arc::clone(&places).acquire_owned(), if !ctx.call().is_nested() => place.ok(),
        // A nested call does not wait for a place: its outer call may hold the last one.
        place = std::future::ready(places.try_acquire_owned()), if ctx.call().is_nested() => place.ok(),
        () = ctx.call().cancel.cancelled() => return Err(cancelled(tool).into()),
        () = tokio::time::sleep_until(deadline.at) => {
            return Err(Refusal::new(Code::Limit, describe(tool, Code::Limit, "every thread for tools that block was busy")).into());
        }
    };
    let (done, mut given) = oneshot::channel();
    let waited_for = Arc::new(AtomicBool::new(true));
    let (ctx_there, tool_there, body, runtime) = (
        ctx.clone(),
        Arc::clone(tool),
        Arc::clone(body),
        Handle::current(),
    );
    let still = Arc::clone(&waited_for);
    let hold = ctx.hold();
    let held = hold.clone();
    let work = move || {
        let on = RustCall {
            ctx: &ctx_there,
            tool: &tool_there,
            deadline: deadline.at,
        };
        let ended = caught(|| runtime.block_on(body.call(&on, arguments)));
        let mut outcome = answered(&tool_there, ended);
        // The thread keeps its hold until it ends, and stores its outcome even if the call is over.
        if let Some(held) = held {
            outcome = settled(&ctx_there, &tool_there, outcome);
            held.body_ended(&ctx_there, &tool_there, &outcome);
        }
        drop(place);
        if !still.swap(false, Ordering::SeqCst) {
            ctx_there
                .shared()
                .in_flight
                .abandoned
                .fetch_sub(1, Ordering::SeqCst);
        }
        // The call may be over.
        let _ = done.send(outcome);
    };
    std::thread::Builder::new()
        .name(format!("tool {}", tool.name()))
        .spawn(work)
        .map_err(|error| {
            Refusal::new(
                Code::Limit,
                describe(
                    tool,
                    Code::Limit,
                    &format!("no thread could be started: {error}"),
                ),
            )
        })?;
    let _waiting = Waiting {
        waited_for: &waited_for,
        abandoned: &in_flight.abandoned,
        hold,
    };
    tokio::select! {
        biased;
        given = &mut given => given.unwrap_or_else(|_| answered(tool, None)),
        () = ctx.call().cancel.cancelled() => Err(cancelled(tool).into()),
        () = tokio::time::sleep_until(deadline.at) => Err(deadline.refusal(tool, "did not finish").into()),
    }
}

/// A call that waits for a thread. Whichever stops first, thread or call, clears `waited_for`.
struct Waiting<'a> {
    waited_for: &'a AtomicBool,
    abandoned: &'a AtomicUsize,
    hold: Option<Arc<Hold>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(hold) = self
            .hold
            .as_ref()
            .filter(|_| self.waited_for.load(Ordering::SeqCst))
        {
            hold.leave();
        }
        // Count first: the thread may subtract itself as soon as the flag is cleared.
        self.abandoned.fetch_add(1, Ordering::SeqCst);
        if !self.waited_for.swap(false, Ordering::SeqCst) {
            self.abandoned.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

pub(in crate::run) fn cancelled(tool: &RegisteredTool) -> Refusal {
    Refusal::new(
        Code::Cancelled,
        describe(tool, Code::Cancelled, "cancelled"),
    )
}
