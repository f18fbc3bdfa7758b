//! Approve: a person agrees where one must. It is the last stage before the body, so that exactly
//! what was approved runs.

use super::ask::{Ask, Asker, Request, answer};
use super::before::Prepared;
use super::context::Context;
use crate::artifact::tool::Approval;
use crate::middleware::Step;
use crate::refusal::Refusal;
use crate::view::ActiveTool;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A call that may be executed as it is. Nothing else can be executed.
pub(super) struct Approved(Prepared);

impl Approved {
    pub(super) fn into_parts(self) -> (Arc<ActiveTool>, Map<String, Value>, String) {
        self.0.into_parts()
    }

    pub(super) fn arguments(&self) -> &Map<String, Value> {
        self.0.arguments()
    }
}

/// Approves a call: now, unless a person may have to be asked. Most calls ask nobody, and a future
/// would cost those a copy of all their parts.
pub(super) fn approve(ctx: &Context, prepared: Prepared) -> Step<'_, Result<Approved, Refusal>> {
    match prepared.is_asked() {
        true => Step::later(asked(ctx, prepared)),
        false => Step::Now(Ok(Approved(prepared))),
    }
}

async fn asked(ctx: &Context, mut prepared: Prepared) -> Result<Approved, Refusal> {
    let mut asks = prepared.take_asks();
    asks.extend(asked_by(prepared.tool()));
    if !asks.is_empty() {
        ask(ctx, prepared.tool(), prepared.arguments(), asks).await?;
    }
    Ok(Approved(prepared))
}

/// Asks a person about exactly this call.
async fn ask(
    ctx: &Context,
    tool: &ActiveTool,
    arguments: &Map<String, Value>,
    asks: Vec<Ask>,
) -> Result<(), Refusal> {
    let request = Request::new(ctx, tool, arguments, asks);
    let answered = answer(ctx, Some(tool.called()), &request.asks).await;
    answered.map_err(|refusal| of_request(refusal, tool, &request))
}

/// The question that the tool's own file asks.
fn asked_by(tool: &ActiveTool) -> Option<Ask> {
    let approval = tool.tool.requires_approval.as_ref();
    let approval = approval.filter(|approval| approval.value == Approval::Always)?;
    Some(Ask {
        asker: Asker::Tool,
        reason: "the tool says `requires_approval`".to_owned(),
        place: Some(tool.tool.place(approval.span)),
    })
}

/// A refusal that names what it refused, so that a later answer can be bound to it.
fn of_request(refusal: Refusal, tool: &ActiveTool, request: &Request) -> Refusal {
    let refusal = refusal.detail("digest", request.digest.as_str());
    match &refusal.place {
        Some(_) => refusal,
        None => refusal.at(tool.tool.place(tool.tool.name_span)),
    }
}
