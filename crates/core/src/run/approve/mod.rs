//! Approve: a person agrees where one must. It is the last stage before the body, so that exactly
//! what was approved runs.

use super::ask::{Ask, Asker, Request, nobody};
use super::before::Prepared;
use super::context::Context;
use crate::artifact::tool::Approval;
use crate::refusal::Refusal;
use crate::view::ActiveTool;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A call that may be executed as it is. Nothing else can be executed.
pub(super) struct Approved {
    tool: Arc<ActiveTool>,
    arguments: Map<String, Value>,
    raw: String,
}

impl Approved {
    pub(super) fn into_parts(self) -> (Arc<ActiveTool>, Map<String, Value>, String) {
        (self.tool, self.arguments, self.raw)
    }

    pub(super) fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }
}

pub(super) async fn approve(ctx: &Context, prepared: Prepared) -> Result<Approved, Refusal> {
    let (tool, arguments, raw, mut asks) = prepared.into_parts();
    asks.extend(asked_by(&tool));
    if !asks.is_empty() {
        let request = Request::new(ctx, &tool, &arguments, asks);
        // The time a person takes does not count.
        let _waiting = ctx.pause();
        answer(&tool, &request).await?;
    }
    Ok(Approved {
        tool,
        arguments,
        raw,
    })
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

/// The answer to a request. Approvers will be asked here once they exist.
async fn answer(tool: &ActiveTool, request: &Request) -> Result<(), Refusal> {
    let refusal = nobody(Some(tool.called()), &request.asks);
    let refusal = refusal.detail("digest", request.digest.as_str());
    Err(match &refusal.place {
        Some(_) => refusal,
        None => refusal.at(tool.tool.place(tool.tool.name_span)),
    })
}
