//! Gives a Rust tool the same access as a script, under the same plan.

use crate::effect::Effects;
use crate::isolate;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::run::builtin::io::SandboxedIo;
use crate::run::context::Context;
use crate::run::outcome::SideOutcomes;
use crate::store::blob::{BlobError, SessionBlobs};
use crate::tool::CallAccess;
use std::sync::{Arc, PoisonError};
use tokio::time::Instant;

/// One call of a Rust tool.
#[derive(Clone, Copy)]
pub(crate) struct RustCall<'a> {
    pub(in crate::run) ctx: &'a Context,
    pub(in crate::run) tool: &'a RegisteredTool,
    pub(in crate::run) deadline: Instant,
}

impl RustCall<'_> {
    /// Refuses effects that the tool did not declare.
    pub(in crate::run) fn declared(&self, effects: Effects) -> Result<(), Refusal> {
        if self.tool.effects.contains(effects) {
            return Ok(());
        }
        let message = format!(
            "`{}` does not declare {effects}, so it may not do that",
            self.tool.name()
        );
        Err(Refusal::new(Code::SandboxDenied, message)
            .help("the tool's author has to add it to `effects`"))
    }

    /// Does disk work on a blocking thread, so that no other call waits for it.
    pub(in crate::run) async fn with_blobs<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SessionBlobs) -> Result<T, BlobError> + Send + 'static,
    ) -> Result<T, Refusal> {
        let blobs = self
            .ctx
            .shared()
            .session_blobs(&self.ctx.call().session_id, self.tool.name());
        match isolate::blocking(move || work(&blobs)).await {
            Some(Ok(done)) => Ok(done),
            Some(Err(error @ (BlobError::Unknown(_) | BlobError::TooLarge(_)))) => {
                Err(Refusal::new(Code::Failed, error.to_string()))
            }
            Some(Err(error)) => Err(Refusal::new(Code::StoreFailed, error.to_string())),
            None => Err(Refusal::new(Code::StoreFailed, "the store crashed")),
        }
    }

    pub(in crate::run) fn io(&self, what: &str) -> SandboxedIo {
        SandboxedIo {
            ctx: self.ctx.clone(),
            traces: Arc::new(SideOutcomes::default()),
            narrowing: self.tool.narrowing(),
            limits: self.tool.limits,
            deadline: self.deadline,
            cancel: self.cancellation(),
            source: self.tool.name().to_owned(),
            builtin: what.to_owned(),
            rehearsed: false,
        }
    }
}

pub(in crate::run) fn refusal_of(io: &SandboxedIo, message: String) -> Refusal {
    let refused = io
        .traces
        .refused
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    refused.unwrap_or_else(|| Refusal::new(Code::Failed, message))
}
