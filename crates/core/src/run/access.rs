//! The access that a call gives its Rust tool: the same as a script has, under the same plan.

use super::execute::RustCall;
use crate::builtin::Program;
use crate::call::{Arguments, Call};
use crate::depth::{is_deep, let_go, too_deep};
use crate::effect::Effects;
use crate::event::EventKind;
use crate::id::ToolName;
use crate::outside::{Ran, Request, Response};
use crate::plan;
use crate::redact::NamedFields;
use crate::refusal::{Code, Refusal};
use crate::result::{ArtifactRef, ToolResult};
use crate::run::execute::refusal_of;
use crate::run::run;
use crate::store::KeyValue;
use crate::store::StoreScope;
use crate::tool::{Access, CallAccess};
use serde_json::Value;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::file::Jail;

/// How deep calls may nest; deeper ones are refused.
const MAX_DEPTH: usize = 8;

impl CallAccess for RustCall<'_> {
    fn call(&self) -> &Call {
        self.ctx.call()
    }

    fn tool_name(&self) -> &ToolName {
        self.tool.canonical()
    }

    fn named(&self) -> NamedFields<'_> {
        self.ctx
            .shared()
            .redactor
            .named(self.tool.redaction.as_ref())
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn cancellation(&self) -> CancellationToken {
        self.ctx.cancelled_when_over()
    }

    fn store(&self, scope: StoreScope) -> &dyn KeyValue {
        self.ctx.stores().scope(scope)
    }

    fn progress(&self, fraction: f64, message: &str) {
        self.ctx.record_raised(|| EventKind::ToolProgress {
            fraction,
            message: message.to_owned(),
        });
    }

    fn emit(&self, name: &str, payload: &Value) {
        match is_deep(payload) {
            false => self.ctx.emit(self.tool.name(), name, payload),
            true => self.ctx.emit(self.tool.name(), name, &too_deep().into()),
        }
    }

    fn files(&self) -> Result<Arc<Jail>, Refusal> {
        self.declared(Effects::READ)?;
        let jail = self.ctx.shared().workspace()?;
        let mut bounds = plan::bounds(self.ctx.site(), &self.tool.narrowing());
        if !self.tool.effects.contains(Effects::WRITE) {
            bounds.write = Some(Vec::new());
        }
        let judged = self.ctx.judged_paths();
        if bounds.is_open() && judged.is_empty() {
            return Ok(Arc::clone(jail));
        }
        let kept = jail
            .with_bounds(bounds)
            .map_err(|error| Refusal::new(Code::SandboxUnavailable, error.to_string()))?;
        Ok(Arc::new(kept.judging(judged)))
    }

    fn run(&self, program: Program) -> Access<'_, Ran> {
        Box::pin(async move {
            self.declared(Effects::EXEC)?;
            let jail = self.ctx.shared().workspace()?;
            let io = self.io("run");
            let ran = io.run(jail, program).await;
            ran.map_err(|message| refusal_of(&io, message))
        })
    }

    fn send(&self, request: Request, time: Duration) -> Access<'_, Response> {
        Box::pin(async move {
            let reads = ["GET", "HEAD"].contains(&request.method.as_str());
            self.declared(if reads {
                Effects::NET_READ
            } else {
                Effects::NET_WRITE
            })?;
            let io = self.io("send");
            let answer = io.send(request, time).await;
            answer.map_err(|message| refusal_of(&io, message))
        })
    }

    fn keep(&self, content: Vec<u8>, media_type: String) -> Access<'_, ArtifactRef> {
        Box::pin(async move {
            self.ctx.room_to_store()?;
            let kept = self
                .with_blobs(move |blobs| blobs.write_from(&*content, &media_type, 0))
                .await?;
            // Another task of the call may have stored an artifact in the meantime.
            self.ctx.room_to_store()?;
            self.ctx.stored(&kept.artifact, kept.preview.redacted);
            Ok(kept.artifact)
        })
    }

    fn read_artifact(&self, id: String, offset: u64, length: u64) -> Access<'_, Vec<u8>> {
        Box::pin(self.with_blobs(move |blobs| blobs.read(&id, offset, length)))
    }

    fn nested<'a>(
        &'a self,
        tool: &'a str,
        arguments: Value,
    ) -> Pin<Box<dyn Future<Output = ToolResult> + Send + 'a>> {
        Box::pin(self.call_inside(tool, arguments))
    }
}

impl RustCall<'_> {
    /// Makes a nested call in the same session and run, with the remaining time.
    async fn call_inside(&self, tool: &str, arguments: Value) -> ToolResult {
        let mut call = self.ctx.call().clone();
        call.outermost.get_or_insert_with(|| call.id.clone());
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
        let result = run(self.ctx.shared(), call).await;
        // The outer tool may not swallow an interruption of the run.
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
