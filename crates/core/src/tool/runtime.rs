//! What a call gives its tool: the run's context, and the only ways to reach files, processes, the
//! network and other tools.

use super::ToolError;
use crate::builtin::Program;
use crate::call::Call;
use crate::id::{ToolCallId, ToolName};
use crate::outside::{Ran, Request, Response};
use crate::redact::NamedFields;
use crate::refusal::Refusal;
use crate::result::{ArtifactRef, ToolResult};
use crate::store::KeyValue;
use crate::store::StoreScope;
use serde_json::Value;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::file::Jail;

/// What a call gives its Rust tool. The path implements it; [`ToolRuntime`] is what authors see.
pub(crate) trait CallAccess: Send + Sync {
    /// The call, without its arguments.
    fn call(&self) -> &Call;
    /// The tool's canonical name.
    fn tool_name(&self) -> &ToolName;
    /// The fields whose values error messages must not quote.
    fn named(&self) -> NamedFields<'_>;
    /// How much time is left.
    fn time_left(&self) -> Duration;
    /// A token that is cancelled with the call, and when the call is over.
    fn cancellation(&self) -> CancellationToken;
    /// A key-value store that the call sees.
    fn store(&self, scope: StoreScope) -> &dyn KeyValue;
    /// Records how far the call is.
    fn progress(&self, fraction: f64, message: &str);
    /// Raises a custom event.
    fn emit(&self, name: &str, payload: &Value);
    /// The workspace, narrowed to what the tool may touch.
    fn files(&self) -> Result<Arc<Jail>, Refusal>;
    /// Runs a program in the sandbox.
    fn run(&self, program: Program) -> Access<'_, Ran>;
    /// Sends a request.
    fn send(&self, request: Request, time: Duration) -> Access<'_, Response>;
    /// Stores bytes for the session.
    fn keep(&self, content: Vec<u8>, media_type: String) -> Access<'_, ArtifactRef>;
    /// Reads stored bytes of the session.
    fn read_artifact(&self, id: String, offset: u64, length: u64) -> Access<'_, Vec<u8>>;
    /// Calls another tool through every stage.
    fn nested<'a>(
        &'a self,
        tool: &'a str,
        arguments: Value,
    ) -> Pin<Box<dyn Future<Output = ToolResult> + Send + 'a>>;
}

/// What a tool waits for when it reaches out of its call.
pub(crate) type Access<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send + 'a>>;

/// One call, as its tool sees it. Cheap to copy.
pub struct ToolRuntime<'a, Ctx = ()> {
    access: &'a dyn CallAccess,
    context: &'a Ctx,
}

impl<Ctx> Clone for ToolRuntime<'_, Ctx> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Ctx> Copy for ToolRuntime<'_, Ctx> {}

impl<'a, Ctx> ToolRuntime<'a, Ctx> {
    pub(super) fn new(access: &'a dyn CallAccess, context: &'a Ctx) -> Self {
        Self { access, context }
    }

    /// The fields that must not be quoted.
    pub(super) fn named(&self) -> NamedFields<'a> {
        self.access.named()
    }

    /// The run's context, from the host.
    #[must_use]
    pub fn context(&self) -> &'a Ctx {
        self.context
    }

    /// The call's id.
    #[must_use]
    pub fn call_id(&self) -> &'a ToolCallId {
        &self.access.call().id
    }

    /// The tool's canonical name, even when called by an alias.
    #[must_use]
    pub fn tool_name(&self) -> &'a ToolName {
        self.access.tool_name()
    }

    /// The session's id.
    #[must_use]
    pub fn session_id(&self) -> &'a str {
        &self.access.call().session_id
    }

    /// The run's id.
    #[must_use]
    pub fn run_id(&self) -> &'a str {
        &self.access.call().run_id
    }

    /// The mode of the call.
    #[must_use]
    pub fn mode(&self) -> &'a str {
        &self.access.call().mode
    }

    /// How much time is left. When it runs out, the call ends even if the tool ignores it.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.access.time_left()
    }

    /// Cancelled when the call ends for any reason; for background work that the tool started.
    #[must_use]
    pub fn cancellation(&self) -> CancellationToken {
        self.access.cancellation()
    }

    /// The key-value store of the session (`state`), the run (`cache`) or the turn (`ctx`). Scripts
    /// share it.
    #[must_use]
    pub fn store(&self, scope: StoreScope) -> &'a dyn KeyValue {
        self.access.store(scope)
    }

    /// Reports progress, as a fraction of 1.
    pub fn progress(&self, fraction: f64, message: &str) {
        self.access.progress(fraction, message);
    }

    /// Raises the event `custom.<name>`, for sinks and hooks.
    pub fn emit(&self, name: &str, payload: &Value) {
        self.access.emit(name, payload);
    }

    /// The files of the workspace, restricted by the tool's effects, the project and the layers
    /// above it.
    pub fn files(&self) -> Result<Arc<Jail>, ToolError> {
        Ok(self.access.files()?)
    }

    /// Runs a program in the sandbox, under the call's plan.
    pub async fn run(&self, program: Program) -> Result<Ran, ToolError> {
        Ok(self.access.run(program).await?)
    }

    /// Sends a request to a host that the call may reach.
    pub async fn send(&self, request: Request, time: Duration) -> Result<Response, ToolError> {
        Ok(self.access.send(request, time).await?)
    }

    /// Stores bytes for this session, with secrets redacted; the result of the call lists them.
    /// Only the first 64 MiB are kept, and a call that stores more than 1,000 artifacts is refused
    /// as `tool.limit`.
    pub async fn keep(
        &self,
        content: impl Into<Vec<u8>>,
        media_type: &str,
    ) -> Result<ArtifactRef, ToolError> {
        Ok(self
            .access
            .keep(content.into(), media_type.to_owned())
            .await?)
    }

    /// Reads at most `length` bytes of an artifact of this session.
    pub async fn read_artifact(
        &self,
        id: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, ToolError> {
        Ok(self
            .access
            .read_artifact(id.to_owned(), offset, length)
            .await?)
    }

    /// Calls another tool through every stage. The nested call ends with this one. It waits for a
    /// free slot of that tool until its deadline; if every holder of a slot waits for this call, it
    /// is refused as `tool.limit`.
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.access.nested(tool, arguments).await
    }
}
