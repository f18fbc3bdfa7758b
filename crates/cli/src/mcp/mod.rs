//! The MCP server: a project's tools over standard input and output. Standard output carries only
//! the protocol.

mod answer;
mod listing;
mod log;
mod output;
mod pending;
mod progress;
mod read;
mod reload;
mod resources;
mod server;
mod transport;

pub use log::ScriptLog;
pub use progress::ProgressRoutes;

use listing::Listing;
use rmcp::service::serve_directly_with_ct;
use server::McpServer;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tool_harness::digest;
use tool_harness::engine::Live;
use transport::Stdio;

/// How long calls may run after the input ends.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait for the last events to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
/// How long cancelled calls may take to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Serves the project until the input ends or `stop` is cancelled. `routes` must be a sink of its
/// engine.
pub async fn serve(
    live: Live,
    routes: Arc<ProgressRoutes>,
    mode: &str,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let listing = Listing::new(live.engine(), mode)?;
    log::diagnostics(&listing.engine.report());

    let engine = live.engine();
    let (ended, calls) = (CancellationToken::new(), CancellationToken::new());
    let (in_flight, mut all_calls) = mpsc::channel(1);
    // A client that closes its end of the output is gone, like one that closes the input.
    let stop = stop.child_token();
    let stdio = Stdio::open(&ended, &stop);
    let server = Arc::new(McpServer {
        mode: mode.to_owned(),
        session_id: digest::fresh_id("ses"),
        run_id: digest::fresh_id("run"),
        listing: RwLock::new(Arc::new(listing)),
        routes,
        pending: stdio.pending(),
        version: watch::Sender::new(0),
        ended: ended.clone(),
        calls: calls.clone(),
        in_flight,
    });
    tokio::spawn(end_calls(ended, stop.clone(), calls.clone()));
    // Without waiting for a handshake: a request that comes before it gets an answer, and does not
    // end the connection.
    let serving = serve_directly_with_ct(Arc::clone(&server), stdio, None, stop);
    let watching = tokio::spawn(reload::watch(
        live,
        Arc::clone(&server),
        serving.peer().clone(),
    ));
    let quit = serving.waiting().await;
    watching.abort();
    calls.cancel();
    drop((watching.await, server));
    // Every call holds a sender. When the last is gone, so are the workers.
    let _ = tokio::time::timeout(CANCEL_TIMEOUT, all_calls.recv()).await;
    engine.flush(FLUSH_TIMEOUT).await;
    quit?;
    Ok(())
}

/// Cancels the calls: at once on a signal, after a moment when the client closes the input.
async fn end_calls(ended: CancellationToken, stop: CancellationToken, calls: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = ended.cancelled() => tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(GRACE) => {}
        },
    }
    calls.cancel();
}
