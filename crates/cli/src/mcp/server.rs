//! Serves the protocol's requests: translates them for the engine, which decides.

use super::answer::{OutputPromise, answer};
use super::listing::{Listing, Revision};
use super::pending::PendingRequests;
use super::progress::{ProgressRoute, ProgressRoutes};
use super::resources::{self, ADDRESS};
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceTemplate, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde_json::Value;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tool_harness::ToolResult;
use tool_harness::{Arguments, Call, Door};

/// How long a client may cache an answer, in milliseconds; files can change at any time.
const FRESH_MS: u64 = 1000;

/// Says how long a client may cache a result, which only the latest revision can express.
macro_rules! cached {
    ($result:expr, $revision:expr, $ms:expr) => {
        match $revision {
            Revision::AnyJson => $result
                .with_ttl_ms($ms)
                .with_cache_scope(CacheScope::Private),
            Revision::Objects | Revision::Early => $result,
        }
    };
}

/// One connection, which is one session and one run: a client does not say where a prompt ends.
pub(super) struct McpServer {
    pub(super) mode: String,
    pub(super) session_id: String,
    pub(super) run_id: String,
    pub(super) listing: RwLock<Arc<Listing>>,
    pub(super) routes: Arc<ProgressRoutes>,
    pub(super) pending: PendingRequests,
    /// Counts the changes of the listing.
    pub(super) version: watch::Sender<u64>,
    /// Cancelled when the input ends.
    pub(super) ended: CancellationToken,
    /// Cancels every call.
    pub(super) calls: CancellationToken,
    /// Every running call holds a clone.
    pub(super) in_flight: mpsc::Sender<()>,
}

impl McpServer {
    /// The current listing. A request uses one version to its end.
    pub(super) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.listing.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs a call to its end and reports its progress.
    async fn run(
        &self,
        listing: &Listing,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> Result<ToolResult, ErrorData> {
        let _guard = self.in_flight.clone();
        let token = context.meta.get_progress_token();
        let mut route = token
            .map(|token| ProgressRoute::open(&self.routes, &call.id, token, context.peer.clone()));
        let cancel = call.cancel.clone();
        let result = {
            let mut running = pin!(caught(listing.engine.call(call)));
            let follow = async {
                match &mut route {
                    Some(route) => route.follow().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                result = &mut running => result,
                () = context.ct.cancelled() => {
                    cancel.cancel();
                    running.await
                }
                never = follow => match never {},
            }
        };
        if let Some(route) = route {
            route.finish().await;
        }
        if context.ct.is_cancelled() {
            // A cancelled request gets no answer, and only an answer would release its id.
            self.pending.release(&context.id);
        }
        result
    }
}

/// Runs a future. A panic becomes an answer, so that the client does not wait for ever.
async fn caught<F: Future>(future: F) -> Result<F::Output, ErrorData> {
    let mut future = pin!(future);
    let mut step = |context: &mut Context<'_>| {
        catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)))
    };
    poll_fn(move |context| match step(context) {
        Ok(polled) => polled.map(Ok),
        Err(_) => Poll::Ready(Err(ErrorData::internal_error(
            "harness itself is broken; the call may have run",
            None,
        ))),
    })
    .await
}

/// The revision that the client speaks, once it has said so.
fn revision(context: &RequestContext<RoleServer>) -> Result<Revision, ErrorData> {
    let spoken = context.protocol_version();
    spoken.as_ref().map(Revision::of).ok_or_else(|| {
        ErrorData::invalid_params("send `initialize` first, or `io.modelcontextprotocol/protocolVersion` in the request's `_meta`", None)
    })
}

/// Refuses a cursor. There is one page, because several clients never ask for a second.
fn ensure_first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        None => Ok(()),
        Some(_) => {
            let text = "there is one page; leave `cursor` out";
            Err(ErrorData::invalid_params(text, None))
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("harness", env!("CARGO_PKG_VERSION")))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let answer = self.negotiate_initialize(&request)?;
        let mut agreed = request;
        agreed.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(agreed);
        Ok(answer)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let revision = revision(&context)?;
        ensure_first_page(request)?;
        let tools = ListToolsResult::with_all_items(self.listing().tools(revision));
        Ok(cached!(tools, revision, FRESH_MS))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let revision = revision(&context)?;
        let listing = self.listing();
        let arguments = Arguments::Value(Value::Object(request.arguments.unwrap_or_default()));
        let mut call = Call::new(request.name, arguments)
            .session(&*self.session_id)
            .door(Door::Mcp)
            .mode(self.mode.to_string());
        call.run_id.clone_from(&self.run_id);
        call.cancel = self.calls.child_token().into();
        let result = self.run(&listing, call, &context).await?;
        let promise = if listing.promises_output(&result.name, revision) {
            OutputPromise::Output
        } else {
            OutputPromise::None
        };
        Ok(answer(result, revision, promise)?.into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = requested.tools_list_changed;
        Some(accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut version = self.version.subscribe();
        loop {
            tokio::select! {
                biased;
                () = self.ended.cancelled() => return Ok(()),
                () = subscription.cancelled() => {
                    self.pending.release(&subscription.request_context().id);
                    return Ok(());
                }
                changed = version.changed() => {
                    if changed.is_err() || subscription.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let text = format!("unknown method `{}`", request.method);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(unsupported("prompts"))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let revision = revision(&context)?;
        ensure_first_page(request)?;
        let blobs = self.listing().engine.blobs(&self.session_id);
        let resources = ListResourcesResult::with_all_items(
            resources::blocking(move || resources::list(&blobs)).await?,
        );
        // Not cached: the list must include what was just stored.
        Ok(cached!(resources, revision, 0))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let revision = revision(&context)?;
        let blobs = self.listing().engine.blobs(&self.session_id);
        let contents = resources::blocking(move || resources::read(&blobs, &request.uri)).await?;
        let read = ReadResourceResult::new(vec![contents]);
        Ok(cached!(read, revision, FRESH_MS).into())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new(format!("{ADDRESS}{{id}}"), "artifact")
            .with_description("what was left out of a long result");
        let templates = ListResourceTemplatesResult::with_all_items(vec![template]);
        Ok(cached!(templates, revision(&context)?, FRESH_MS))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(unsupported("completions"))
    }
}

/// The answer to a request for something this server does not have.
fn unsupported(what: &str) -> ErrorData {
    let text = format!("this server has no {what}, only tools and resources");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_call_becomes_an_answer() {
        assert_eq!(caught(async { 1 }).await, Ok(1));
        let broken = caught(async {
            tokio::task::yield_now().await;
            panic!("a defect")
        });
        let answer: Result<(), ErrorData> = broken.await;
        assert!(answer.is_err_and(|error| error.message.contains("harness itself is broken")));
    }
}
