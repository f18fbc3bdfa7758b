//! Stage 6: runs a call and returns its result. Read this file first.

mod access;
mod admit;
mod approve;
mod ask;
mod audience;
mod authorize;
mod before;
mod builtin;
mod chain;
mod client;
mod context;
mod cut;
mod deadline;
mod execute;
mod explain;
mod finish;
mod in_flight;
mod outcome;
mod record;
mod secrets;
mod shared;

pub use chain::HookReport;
pub use explain::{Explanation, Hosts, StageOutcome};
pub(crate) use shared::Environment;

pub(crate) use audience::Audience;
pub(crate) use chain::{load_artifacts, run_one};
pub(crate) use client::{contain, judge, observe};
pub(crate) use context::Context;
pub(crate) use explain::explain;
pub(crate) use in_flight::InFlight;
pub(crate) use secrets::Secrets;
pub(crate) use shared::{EngineBase, Shared};

use crate::call::Call;
use crate::isolate::caught;
use crate::middleware::Step;
use crate::refusal::{Code, Refusal};
use crate::result::ToolResult;
use crate::stage::{Stage, Stopwatch};
use admit::admit;
use approve::approve;
use authorize::{Authorized, authorize};
use before::before;
use execute::execute;
use finish::{finish, refuse};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

/// Runs one call through every stage. No other path reaches a body, and nothing else writes the
/// events of a call.
pub(crate) async fn run(shared: &Arc<Shared>, call: Call) -> ToolResult {
    *begin(shared, call).finish().await
}

/// A call after the stages that do not wait. It ends once: in [`PendingCall::finish`], or cancelled
/// when the caller drops it.
pub(crate) struct PendingCall {
    ctx: Context,
    watch: Stopwatch,
    rest: Rest,
}

/// What remains to be done for a call.
enum Rest {
    /// The stages that wait.
    Stages(Authorized),
    /// A stage refused the call, and its last event is written.
    Refused(Box<ToolResult>),
    /// The call has ended.
    Nothing,
}

/// Admits and authorizes a call. The calls of a turn begin in order, so limits count them in order.
pub(crate) fn begin(shared: &Arc<Shared>, call: Call) -> PendingCall {
    let (ctx, sent) = Context::new(shared, call);
    let mut watch = ctx.stopwatch();
    let mut stage = Stage::Admit;
    let judged = caught(|| {
        let admitted = admit(&ctx, sent);
        watch.lap(stage);
        let admitted = admitted?;
        stage = Stage::Authorize;
        let authorized = authorize(&ctx, admitted);
        watch.lap(stage);
        authorized
    });
    let refused = match judged {
        Some(Ok(authorized)) => {
            ctx.record_started(authorized.tool(), authorized.arguments());
            let rest = Rest::Stages(authorized);
            return PendingCall { ctx, watch, rest };
        }
        Some(Err(refusal)) => refuse(&ctx, refusal.in_stage(stage)),
        None => refuse(&ctx, broken()),
    };
    let rest = Rest::Refused(ctx.record_rejected(refused, &watch));
    PendingCall { ctx, watch, rest }
}

impl PendingCall {
    /// The result, if a stage refused the call.
    pub(crate) fn refused(&mut self) -> Option<Box<ToolResult>> {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Refused(result) => Some(result),
            rest => {
                self.rest = rest;
                None
            }
        }
    }

    /// Runs the remaining stages.
    pub(crate) async fn finish(&mut self) -> Box<ToolResult> {
        let authorized = match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Stages(authorized) => authorized,
            Rest::Refused(result) => return result,
            Rest::Nothing => return refuse(&self.ctx, gone()),
        };
        let mut ending = FinishGuard {
            call: self,
            ended: false,
        };
        let (ctx, watch) = (&ending.call.ctx, &mut ending.call.watch);
        // Panics of host code are caught where the host is called. This catches every other panic.
        let ended = {
            let mut work = pin!(carried_out(ctx, watch, authorized));
            poll_fn(|cx| {
                caught(|| work.as_mut().poll(cx))
                    .map_or(Poll::Ready(None), |polled| polled.map(Some))
            })
            .await
        };
        let result = ended.unwrap_or_else(|| refuse(ctx, broken()));
        ending.ended = true;
        ending.call.ctx.record_ended(result, &ending.call.watch)
    }
}

/// Runs the stages that wait.
async fn carried_out(
    ctx: &Context,
    watch: &mut Stopwatch,
    authorized: Authorized,
) -> Box<ToolResult> {
    ctx.heard().await;
    if let Err(refusal) = ctx.refuse_if_unrecorded(authorized.tool()) {
        return refuse(ctx, refusal.in_stage(Stage::Before));
    }
    let prepared = before(ctx, authorized).await;
    watch.lap(Stage::Before);
    let approved = match prepared {
        Ok(prepared) => match approve(ctx, prepared) {
            Step::Now(approved) => approved,
            // Only a call that asks a person reads the clock here.
            Step::Later(asked) => {
                let approved = asked.await;
                watch.lap(Stage::Approve);
                approved.map_err(|refusal| refusal.in_stage(Stage::Approve))
            }
        },
        Err(refusal) => Err(refusal.in_stage(Stage::Before)),
    };
    match approved {
        Ok(approved) => {
            let executed = execute(ctx, approved).await;
            watch.lap(Stage::Execute);
            let result = finish(ctx, executed).await.result;
            watch.done(result.elapsed);
            result
        }
        Err(refusal) => refuse(ctx, refusal),
    }
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        if let Rest::Stages(_) = self.rest {
            self.ctx
                .record_ended(refuse(&self.ctx, gone()), &self.watch);
        }
    }
}

/// Writes the last event of a call that its caller dropped.
struct FinishGuard<'a> {
    call: &'a mut PendingCall,
    ended: bool,
}

impl Drop for FinishGuard<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.call
                .ctx
                .record_ended(refuse(&self.call.ctx, gone()), &self.call.watch);
        }
    }
}

fn broken() -> Refusal {
    Refusal::new(
        Code::Internal,
        "the harness is broken: a stage of the call panicked",
    )
    .help("a person must look at what the program printed")
}

fn gone() -> Refusal {
    Refusal::new(Code::Cancelled, "the caller stopped waiting for the call")
}
