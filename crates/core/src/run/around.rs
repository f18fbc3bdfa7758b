//! The layers around a body.

use super::context::Context;
use super::execute::{Failure, Given, fits_output};
use super::link::in_time;
use super::record::object;
use super::repeat::attempts;
use crate::isolate::{Isolated, caught};
use crate::middleware::{Around, Known, Seen};
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::Enforced;
use crate::tool::{ToolError, ToolOutput};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex, PoisonError};

/// What is inside a layer: the next one, or the body.
pub struct Next<'a> {
    ctx: &'a Context,
    tool: &'a Arc<RegisteredTool>,
    rest: &'a [Known<dyn Around>],
    arguments: Map<String, Value>,
    enforced: &'a Mutex<Enforced>,
    made: u32,
}

impl Next<'_> {
    /// The arguments of the call, with what is injected.
    #[must_use]
    pub fn arguments(&self) -> &Map<String, Value> {
        &self.arguments
    }

    /// Runs it, and can do so again. Every time but the first is recorded as a retry.
    pub async fn run(&mut self) -> Result<ToolOutput, ToolError> {
        self.count();
        let arguments = self.arguments.clone();
        inside(self.ctx, self.tool, self.rest, arguments, self.enforced).await
    }

    fn count(&mut self) {
        self.made += 1;
        let (tool, made) = (self.tool.name(), self.made);
        if made > 1 {
            self.ctx.record("tool.retried", || {
                object(json!({"tool": tool, "attempt": made, "wait_ms": 0}))
            });
        }
    }

    /// Runs it for the last time, without a copy of the arguments.
    pub async fn finish(mut self) -> Result<ToolOutput, ToolError> {
        self.count();
        inside(
            self.ctx,
            self.tool,
            self.rest,
            self.arguments,
            self.enforced,
        )
        .await
    }
}

/// Runs the body inside the host's layers, outermost first.
pub(super) async fn layered(
    ctx: &Context,
    tool: &Arc<RegisteredTool>,
    arguments: &mut Map<String, Value>,
) -> (Given, Enforced) {
    let layers = &ctx.shared().host.around;
    if layers.is_empty() {
        return attempts(ctx, tool, arguments).await;
    }
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
        // A layer may have answered itself.
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
    tool: &Arc<RegisteredTool>,
    layers: &[Known<dyn Around>],
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
    let next = Next {
        ctx,
        tool,
        rest,
        arguments,
        enforced,
        made: 0,
    };
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
    // A layer may have answered itself.
    answer.and_then(|output| Ok(output.walkable()?))
}
