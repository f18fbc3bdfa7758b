//! The host's layers around a body.

use super::{attempts, fits_output};
use crate::event::EventKind;
use crate::isolate::{Isolated, caught};
use crate::middleware::{Around, Inside, Later, Next, Registered, Seen};
use crate::refusal::{Code, Refusal};
use crate::result::Enforced;
use crate::run::chain::middleware_step::in_time;
use crate::run::context::Context;
use crate::run::outcome::{BodyResult, Failure};
use crate::tool::{ToolError, ToolOutput};
use crate::view::ActiveTool;
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// The remaining layers, and the body.
struct InnerLayers<'a> {
    ctx: &'a Context,
    tool: &'a Arc<ActiveTool>,
    rest: &'a [Registered<dyn Around>],
    enforced: &'a Mutex<Enforced>,
}

impl Inside for InnerLayers<'_> {
    fn run(&self, arguments: Map<String, Value>) -> Later<'_, Result<ToolOutput, ToolError>> {
        Box::pin(inside(
            self.ctx,
            self.tool,
            self.rest,
            arguments,
            self.enforced,
        ))
    }

    fn retried(&self, attempt: u32) {
        self.ctx.record(|| EventKind::ToolRetried {
            tool: self.tool.name().to_owned(),
            attempt,
            code: None,
            wait_ms: 0,
        });
    }
}

/// Runs the body inside the host's layers, outermost first.
pub(in crate::run) async fn layered(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    arguments: &mut Map<String, Value>,
) -> (BodyResult, Enforced) {
    let layers = &ctx.shared().host.around;
    let enforced = Mutex::new(Enforced::Nothing);
    let work = in_time(
        ctx,
        tool,
        ctx.ends(),
        inside(ctx, tool, layers, std::mem::take(arguments), &enforced),
    );
    let outcome = match Box::pin(work)
        .await
        .unwrap_or_else(|refusal| Err(refusal.into()))
    {
        // A layer may answer instead of the body.
        Ok(output) => fits_output(tool, output.value.as_ref())
            .map(|()| Box::new(output))
            .map_err(Failure::from),
        Err(error) => Err(Failure::of(error, tool.name())),
    };
    (
        outcome,
        enforced
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    )
}

async fn inside(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    layers: &[Registered<dyn Around>],
    mut arguments: Map<String, Value>,
    enforced: &Mutex<Enforced>,
) -> Result<ToolOutput, ToolError> {
    let Some((layer, rest)) = layers.split_first() else {
        let (outcome, held) = attempts(ctx, tool, &mut arguments).await;
        *enforced.lock().unwrap_or_else(PoisonError::into_inner) = held;
        return outcome.map(|output| *output).map_err(Failure::into_error);
    };
    let seen = Seen {
        call: ctx.call(),
        tool,
        rehearsed: ctx.is_rehearsed(),
    };
    let inner = InnerLayers {
        ctx,
        tool,
        rest,
        enforced,
    };
    let next = Next::new(&inner, arguments);
    let answer = match caught(|| layer.given.around(seen, next)) {
        Some(answer) => Isolated::new(answer).await,
        None => None,
    };
    let answer = answer.unwrap_or_else(|| {
        Err(Refusal::new(
            Code::HookFailed,
            format!(
                "the layer `{}` panicked, so the result is withheld",
                layer.name
            ),
        )
        .into())
    });
    // A layer may answer instead of the body.
    answer.and_then(|output| Ok(output.walkable()?))
}
