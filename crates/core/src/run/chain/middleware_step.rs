//! One middleware of the chain. A middleware that fails refuses the call.

use super::record_decision;
use crate::decision::HookAction;
use crate::depth::too_deep;
use crate::isolate::{Isolated, caught};
use crate::middleware::{Decision, Judged, Later, Middleware, Registered, Reply, Seen, Step};
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::run::ask::{Ask, Asker};
use crate::run::context::Context;
use crate::run::deadline::Deadline;
use crate::tool::ToolOutput;
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::time::Instant;

/// The shortest time a middleware can defer a call.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
/// How often one middleware may defer a call. Each deferral is an event, and a middleware that
/// never decides must not fill the record.
const MOST_DEFERRED: usize = 1000;

/// One middleware and the call it judges.
#[derive(Clone, Copy)]
pub(in crate::run) struct Link<'a> {
    pub(in crate::run) ctx: &'a Context,
    pub(in crate::run) tool: &'a RegisteredTool,
    pub(in crate::run) middleware: &'a Registered<dyn Middleware>,
}

impl<'a> Link<'a> {
    /// The call with these arguments, as the middleware sees it.
    pub(in crate::run) fn judged(self, arguments: &'a Map<String, Value>) -> Judged<'a> {
        Judged {
            seen: self.seen(),
            arguments,
            changed: None,
            is_too_deep: false,
        }
    }

    /// Asks the middleware; `None` if it panics.
    pub(in crate::run) fn ask<'b>(self, judged: &'b mut Judged<'_>) -> Option<Step<'b, Decision>>
    where
        'a: 'b,
    {
        caught(move || self.middleware.given.before(judged))
    }

    /// Waits for the decision. All waits for one middleware share one deadline.
    pub(in crate::run) async fn awaited(
        self,
        answer: Later<'_, Decision>,
        until: &mut Option<Deadline>,
    ) -> Result<Option<Decision>, Refusal> {
        let limit = *until.get_or_insert_with(|| self.ctx.ends().for_tool(self.tool));
        in_time(self.ctx, self.tool, limit, Isolated::new(answer))
            .await
            .map_err(|refusal| refusal.detail("hook", self.name()))
    }

    /// Whether the middleware allows the call unchanged and no dry run needs to report that.
    pub(in crate::run) fn leaves(self, judged: &Judged<'_>, decision: Option<&Decision>) -> bool {
        matches!(decision, Some(Decision::Allow))
            && judged.changed.is_none()
            && !judged.is_too_deep
            && !self.ctx.is_rehearsed()
    }

    /// Carries out the decision, and asks the middleware again after each deferral. Returns the
    /// arguments if the middleware changed them, and adds its questions to `asks`.
    pub(in crate::run) async fn settled(
        self,
        mut judged: Judged<'a>,
        mut decision: Option<Decision>,
        mut until: Option<Deadline>,
        asks: &mut Vec<Ask>,
    ) -> Result<Option<Map<String, Value>>, Refusal> {
        let (ctx, name) = (self.ctx, self.name());
        let decided = |action: HookAction, reason: &str| {
            record_decision(ctx, name, "tool.pre", action, reason)
        };
        let mut deferred = 0;
        loop {
            match decision {
                Some(Decision::Allow | Decision::Ask(_)) if judged.is_too_deep => {
                    decided(HookAction::Failed, "its arguments nest too deep");
                    let message =
                        format!("middleware `{name}` gave arguments that are {}", too_deep());
                    return Err(Refusal::new(Code::ArgsMalformed, message)
                        .help("a person must fix the host's code")
                        .detail("hook", name));
                }
                Some(Decision::Allow) => {
                    if judged.changed.is_some() {
                        decided(HookAction::Modify, "");
                    } else if ctx.is_rehearsed() {
                        decided(HookAction::Allow, "");
                    }
                    return Ok(judged.changed);
                }
                Some(Decision::Ask(reason)) => {
                    decided(HookAction::Ask, &reason);
                    asks.push(Ask {
                        asker: Asker::Middleware(name.to_owned()),
                        reason,
                        place: None,
                    });
                    return Ok(judged.changed);
                }
                Some(Decision::Refuse(reason)) => {
                    decided(HookAction::Block, &reason);
                    let message = format!("middleware `{name}` blocked the call: {reason}");
                    return Err(Refusal::new(Code::HookBlocked, message)
                        .help("the policy is in the host's own code")
                        .detail("hook", name));
                }
                Some(Decision::Control(control)) => {
                    decided(HookAction::Block, control.reason());
                    let message = format!("middleware `{name}`: {}", control.reason());
                    return Err(Refusal::new(Code::Interrupted, message)
                        .detail("hook", name)
                        .control(control));
                }
                Some(Decision::Defer(_)) if deferred == MOST_DEFERRED => {
                    decided(HookAction::Failed, "it put the call off too often");
                    let message = format!(
                        "middleware `{name}` put the call off {MOST_DEFERRED} times, the most it may"
                    );
                    return Err(Refusal::new(Code::Limit, message)
                        .help("try again later")
                        .detail("hook", name));
                }
                Some(Decision::Defer(wait)) => {
                    deferred += 1;
                    decided(HookAction::Defer, "");
                    let limit = *until.get_or_insert_with(|| ctx.ends().for_tool(self.tool));
                    self.defer(wait.max(SHORTEST_WAIT), limit).await?;
                }
                None => {
                    decided(HookAction::Failed, "it panicked");
                    return Err(panicked(name));
                }
            }
            decision = match self.ask(&mut judged) {
                Some(Step::Now(decision)) => Some(decision),
                Some(Step::Later(answer)) => self.awaited(answer, &mut until).await?,
                None => None,
            };
        }
    }

    /// Waits, if the call has the time.
    async fn defer(self, wait: Duration, limit: Deadline) -> Result<(), Refusal> {
        let (ctx, name) = (self.ctx, self.name());
        let late = || {
            let message = format!("middleware `{name}` put the call off, for longer than it has");
            let after = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            Refusal::new(Code::Limit, message)
                .help("try again later")
                .detail("hook", name)
                .detail("retry_after_ms", after)
        };
        let until = Instant::now()
            .checked_add(wait)
            .filter(|until| *until < limit.at)
            .ok_or_else(late)?;
        if ctx.is_rehearsed() {
            return Err(late());
        }
        tokio::select! {
            biased;
            () = ctx.call().cancel.cancelled() => Err(Refusal::new(Code::Cancelled, format!("cancelled while middleware `{name}` put it off"))),
            () = tokio::time::sleep_until(until) => Ok(()),
        }
    }

    /// Shows a result to a middleware; returns whether it changed the result. A middleware that
    /// panics or does not end withholds the result.
    pub(in crate::run) async fn after(
        self,
        output: &mut ToolOutput,
        error: &mut Option<Refusal>,
    ) -> bool {
        let (
            Self {
                ctx,
                tool,
                middleware,
            },
            seen,
        ) = (self, self.seen());
        let mut reply = Reply {
            output,
            error,
            changed: false,
        };
        let (call, this) = (&seen, &mut reply);
        let name = self.name();
        let wrong = match caught(move || middleware.given.after(call, this)) {
            Some(Step::Now(())) => None,
            Some(Step::Later(answer)) => match Box::pin(in_time(
                ctx,
                tool,
                ctx.ends().for_tool(tool),
                Isolated::new(answer),
            ))
            .await
            {
                Ok(Some(())) => None,
                Ok(None) => Some(("it panicked", panicked(name))),
                Err(refusal) => Some(("it did not end in time", refusal.detail("hook", name))),
            },
            None => Some(("it panicked", panicked(name))),
        };
        if let Some((why, refusal)) = wrong {
            record_decision(ctx, name, "tool.post", HookAction::Failed, why);
            (*output, *error) = (ToolOutput::default(), Some(refusal));
            return true;
        }
        let changed = reply.changed;
        if changed {
            record_decision(ctx, name, "tool.post", HookAction::Modify, "");
        }
        changed
    }

    fn seen(self) -> Seen<'a> {
        Seen {
            call: self.ctx.call(),
            tool: self.tool,
            rehearsed: self.ctx.is_rehearsed(),
        }
    }

    fn name(self) -> &'a str {
        &self.middleware.name
    }
}

/// The answer of the host's code, if it comes before the call must end.
pub(in crate::run) async fn in_time<T>(
    ctx: &Context,
    tool: &RegisteredTool,
    limit: Deadline,
    work: impl Future<Output = T>,
) -> Result<T, Refusal> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = ctx.call().cancel.cancelled() => {
            Err(Refusal::new(Code::Cancelled, format!("`{}`: cancelled while the host's middleware was at work", tool.name())))
        }
        () = tokio::time::sleep_until(limit.at) => Err(limit.refusal(tool, "timed out in the host's middleware")),
    }
}

fn panicked(name: &str) -> Refusal {
    Refusal::new(
        Code::HookFailed,
        format!("middleware `{name}` panicked, so nothing passes it"),
    )
    .help("a person must fix the host's code")
    .detail("hook", name)
}
