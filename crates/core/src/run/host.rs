//! How a Rust tool reaches the world: the same ways as a script, under the same plan.

use super::bound::room_to_keep;
use super::context::Context;
use super::reach::{Reach, Traces};
use super::record::object;
use super::run;
use crate::builtin::Program;
use crate::call::{Arguments, Call};
use crate::depth::{is_deep, let_go, too_deep};
use crate::effect::Effects;
use crate::id::{ToolCallId, ToolName};
use crate::isolate;
use crate::outside::{Ran, Request, Response};
use crate::plan::{self, Narrowing};
use crate::redact::NamedFields;
use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::{ArtifactRef, ToolResult};
use crate::store::KeyValue;
use crate::store::StoreScope;
use crate::store::blob::{BlobError, SessionBlobs};
use serde_json::{Value, json};
use std::any::Any;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::file::Jail;

/// One call of a Rust tool.
#[derive(Clone, Copy)]
pub(crate) struct On<'a> {
    pub(super) ctx: &'a Context,
    pub(super) tool: &'a RegisteredTool,
    pub(super) deadline: Instant,
}

/// Calls inside calls; deeper ones are refused.
const MAX_DEPTH: usize = 8;

impl<'a> On<'a> {
    pub(crate) fn call(self) -> &'a Call {
        self.ctx.call()
    }

    pub(crate) fn call_id(self) -> &'a ToolCallId {
        &self.ctx.call().id
    }

    pub(crate) fn tool_name(self) -> &'a ToolName {
        self.tool.canonical()
    }

    /// The fields that somebody named for this tool or for all.
    pub(crate) fn named(self) -> NamedFields<'a> {
        self.ctx
            .shared()
            .redactor
            .named(self.tool.redaction.as_ref())
    }

    /// The run's context; nothing is a context, too.
    pub(crate) fn user(self) -> &'a (dyn Any + Send + Sync) {
        self.ctx.call().context.as_any()
    }

    pub(crate) fn time_left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Cancelled with the call, and when it is over.
    pub(crate) fn cancellation(self) -> CancellationToken {
        self.ctx.cancelled_when_over()
    }

    pub(crate) fn store(self, scope: StoreScope) -> &'a dyn KeyValue {
        self.ctx.stores().scope(scope)
    }

    pub(crate) fn progress(self, fraction: f64, message: &str) {
        self.ctx.record_raised("tool.progress", || {
            object(json!({"fraction": fraction, "message": message}))
        });
    }

    pub(crate) fn emit(self, name: &str, payload: &Value) {
        match is_deep(payload) {
            false => self.ctx.emit(self.tool.name(), name, payload),
            true => self.ctx.emit(self.tool.name(), name, &too_deep().into()),
        }
    }

    /// Refuses what the tool did not say it would do.
    fn declared(self, effects: Effects) -> Result<(), Refusal> {
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

    /// The workspace, kept to what the tool may touch of it.
    pub(crate) fn files(self) -> Result<Arc<Jail>, Refusal> {
        self.declared(Effects::READ)?;
        let jail = self.ctx.shared().workspace()?;
        let mut bounds = plan::bounds(self.ctx.shared().site(), &Narrowing::of(self.tool));
        if !self.tool.effects.contains(Effects::WRITE) {
            bounds.write = Some(Vec::new());
        }
        if bounds.is_open() {
            return Ok(Arc::clone(jail));
        }
        let kept = jail
            .kept_to(bounds)
            .map_err(|error| Refusal::new(Code::SandboxUnavailable, error.to_string()))?;
        Ok(Arc::new(kept))
    }

    pub(crate) async fn run(self, program: Program) -> Result<Ran, Refusal> {
        self.declared(Effects::EXEC)?;
        let jail = self.ctx.shared().workspace()?;
        let reach = self.reach("run");
        let ran = reach.run(jail, program).await;
        ran.map_err(|message| refusal_of(&reach, message))
    }

    pub(crate) async fn send(self, request: Request, time: Duration) -> Result<Response, Refusal> {
        let reads = ["GET", "HEAD"].contains(&request.method.as_str());
        self.declared(if reads {
            Effects::NET_READ
        } else {
            Effects::NET_WRITE
        })?;
        let reach = self.reach("send");
        let answer = reach.send(request, time).await;
        answer.map_err(|message| refusal_of(&reach, message))
    }

    pub(crate) async fn keep(
        self,
        content: Vec<u8>,
        media_type: String,
    ) -> Result<ArtifactRef, Refusal> {
        room_to_keep(self.ctx)?;
        let kept = self
            .with_blobs(move |blobs| blobs.write_from(&*content, &media_type, 0))
            .await?;
        // Others may have kept something meanwhile.
        room_to_keep(self.ctx)?;
        self.ctx.stored(&kept.artifact, kept.preview.redacted);
        Ok(kept.artifact)
    }

    pub(crate) async fn read_artifact(
        self,
        id: String,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, Refusal> {
        self.with_blobs(move |blobs| blobs.read(&id, offset, length))
            .await
    }

    /// Waits for a disk where no other call waits with it.
    async fn with_blobs<T: Send + 'static>(
        self,
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

    fn reach(self, what: &str) -> Reach {
        Reach {
            ctx: self.ctx.clone(),
            traces: Arc::new(Traces::default()),
            narrowing: Narrowing::of(self.tool),
            limits: self.tool.limits,
            deadline: self.deadline,
            cancel: self.cancellation(),
            source: self.tool.name().to_owned(),
            builtin: what.to_owned(),
            rehearsed: false,
        }
    }

    /// A call inside this one: of the same session and run, with what is left of its time.
    pub(crate) async fn nested(self, tool: &str, arguments: Value) -> ToolResult {
        let mut call = self.ctx.call().clone();
        call.id = format!("{}/{}", call.id, crate::digest::fresh_id("in")).into();
        call.tool = tool.to_owned();
        call.timeout = Some(self.time_left());
        call.cancel = self.cancellation().into();
        call.inside.push(self.ctx.caller());
        if call.inside.len() > MAX_DEPTH {
            let_go(arguments);
            let message =
                format!("calls inside calls go {MAX_DEPTH} deep, and this one would go deeper");
            return ToolResult::refused(
                call.id,
                tool,
                Refusal::new(Code::Limit, message).help("a tool must not call itself for ever"),
            );
        }
        call.arguments = Arguments::Value(arguments);
        let result = Box::pin(run(self.ctx.shared(), call)).await;
        // Where the run shall go is not this tool's to decide.
        if let Some(control) = result
            .error
            .as_ref()
            .and_then(|error| error.control.clone())
        {
            self.ctx.interrupt(control);
        }
        result
    }
}

fn refusal_of(reach: &Reach, message: String) -> Refusal {
    let refused = reach
        .traces
        .refused
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    refused.unwrap_or_else(|| Refusal::new(Code::Failed, message))
}
