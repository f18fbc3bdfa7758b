//! Before: hooks and middleware judge the call and may change its arguments.

use super::ask::Ask;
use super::authorize::Authorized;
use super::chain::middleware_step::Link;
use super::chain::payload::{merge_pre, tool_pre};
use super::chain::{Changed, fire_emitted, fire_these, refuse_if_broken};
use super::context::Context;
use crate::middleware::Step;
use crate::refusal::Refusal;
use crate::view::ActiveHook;
use crate::view::ActiveTool;
use crate::view::Segment;
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::time::timeout_at;

/// A call that the chain let through, with all reasons so far to ask a person.
pub(super) struct Prepared(Authorized);

impl Prepared {
    /// Whether a person may have to approve the call.
    pub(super) fn is_asked(&self) -> bool {
        self.0.is_asked() || self.tool().tool.requires_approval.is_some()
    }

    pub(super) fn tool(&self) -> &ActiveTool {
        self.0.tool()
    }

    pub(super) fn arguments(&self) -> &Map<String, Value> {
        self.0.arguments()
    }

    /// Takes out the reasons to ask a person.
    pub(super) fn take_asks(&mut self) -> Vec<Ask> {
        self.0.take_asks()
    }

    pub(super) fn into_parts(self) -> (Arc<ActiveTool>, Map<String, Value>, String) {
        self.0.into_parts()
    }
}

pub(super) async fn before(ctx: &Context, mut authorized: Authorized) -> Result<Prepared, Refusal> {
    if ctx.view().is_hooked {
        // If hooks cannot judge the result afterwards, the body must not run.
        for event in ["tool.pre", "tool.post"] {
            refuse_if_broken(ctx, event)?;
        }
    }
    if !ctx.view().pre.is_empty() {
        let (latest, asks) = judged(ctx, &authorized).await?;
        if let Some(arguments) = latest {
            authorized = authorized.with_arguments(ctx, arguments)?;
        }
        if !asks.is_empty() {
            authorized.ask(asks);
        }
    }
    Ok(Prepared(authorized))
}

/// Runs the chain within the call's time.
async fn judged(ctx: &Context, authorized: &Authorized) -> Judgement {
    let chain = &ctx.view().pre;
    let has_hooks = || chain.iter().any(|link| matches!(link, Segment::Hooks(_)));
    let end = ctx.ends();
    // A hook that is cut off has not decided, so the call ends here.
    let judgement = if has_hooks() {
        Box::pin(timeout_at(end.at, links(ctx, authorized)))
            .await
            .unwrap_or_else(|_| {
                Err(end.refusal(authorized.tool(), "got no decision from its hooks"))
            })?
    } else {
        links(ctx, authorized).await?
    };
    if ctx.has_emitted() {
        Box::pin(fire_emitted(ctx)).await;
    }
    Ok(judgement)
}

/// The arguments, if a link changed them, and the reasons to ask a person.
type Judgement = Result<(Option<Map<String, Value>>, Vec<Ask>), Refusal>;

/// Asks the links in order; each sees the arguments as the previous one left them.
async fn links(ctx: &Context, authorized: &Authorized) -> Judgement {
    let tool = authorized.tool();
    let (mut latest, mut asks) = (None, Vec::new());
    for segment in &ctx.view().pre {
        let arguments = latest.as_ref().unwrap_or_else(|| authorized.arguments());
        match segment {
            Segment::Middleware(middleware) => {
                let link = Link {
                    ctx,
                    tool,
                    middleware,
                };
                let (mut judged, mut until) = (link.judged(arguments), None);
                let decision = match link.ask(&mut judged) {
                    Some(Step::Now(decision)) => Some(decision),
                    Some(Step::Later(answer)) => Box::pin(link.awaited(answer, &mut until)).await?,
                    None => None,
                };
                // Most middleware leaves a call alone, and that must stay cheap.
                if !link.leaves(&judged, decision.as_ref()) {
                    latest = Box::pin(link.settled(judged, decision, until, &mut asks))
                        .await?
                        .or(latest);
                }
            }
            Segment::Hooks(hooks) => {
                let (changed, more) =
                    Box::pin(judged_by(ctx, authorized, hooks, arguments)).await?;
                asks.extend(more);
                latest = changed.or(latest);
            }
        }
    }
    Ok((latest, asks))
}

/// Asks a sequence of hooks.
async fn judged_by(
    ctx: &Context,
    authorized: &Authorized,
    hooks: &[Arc<ActiveHook>],
    arguments: &Map<String, Value>,
) -> Judgement {
    let payload = tool_pre(ctx.call(), authorized.tool(), arguments, authorized.raw());
    let mut changed = None;
    let mut judge = |payload: &Map<String, Value>, returned: &Value| {
        let Some(arguments) = merge_pre(payload, returned)? else {
            return Ok(Changed::Nothing);
        };
        let mut next = payload.clone();
        next.insert("args".into(), Value::Object(arguments.clone()));
        changed = Some(arguments);
        Ok(Changed::To(next))
    };
    let asks = fire_these(ctx, "tool.pre", hooks, payload, &mut judge)
        .await?
        .asks;
    Ok((changed, asks))
}
