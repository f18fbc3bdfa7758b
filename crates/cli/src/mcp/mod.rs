//! The MCP door: a project's tools over standard input and output. Nothing but the protocol is written to standard output.

mod answer;
mod door;
mod log;
mod offer;
mod output;
mod progress;
mod read;
mod resource;
mod transport;
mod watch;

pub use log::Log;
pub use progress::Routes;

use door::Door;
use offer::Offer;
use rmcp::service::serve_directly_with_ct;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch as version};
use tokio_util::sync::CancellationToken;
use tool_harness::digest;
use tool_harness::live::Live;
use transport::Stdio;

/// How long calls may go on after the input has ended.
const GRACE: Duration = Duration::from_secs(1);
/// How long the reader of the log has for the last of it.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long cancelled calls may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// Serves the project until the input ends or `stop` is cancelled. `routes` takes the events of its engine.
pub async fn serve(
    live: Live,
    routes: Arc<Routes>,
    mode: &str,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let offer = Offer::new(live.engine(), mode)?;
    log::diagnostics(&offer.engine.report());

    let engine = live.engine();
    let (ended, calls) = (CancellationToken::new(), CancellationToken::new());
    let (in_flight, mut all_calls) = mpsc::channel(1);
    // A client that reads no more is gone like one that hung up, and cannot be told anything.
    let stop = stop.child_token();
    let stdio = Stdio::open(&ended, &stop);
    let door = Arc::new(Door {
        mode: mode.to_owned(),
        session_id: digest::fresh_id("ses"),
        offer: RwLock::new(Arc::new(offer)),
        routes,
        open: stdio.open_requests(),
        listing: version::Sender::new(0),
        ended: ended.clone(),
        calls: calls.clone(),
        in_flight,
    });
    tokio::spawn(end_calls(ended, stop.clone(), calls.clone()));
    // Without a gate for the handshake: what comes before it is answered like everything else instead of ending the connection.
    let serving = serve_directly_with_ct(Arc::clone(&door), stdio, None, stop);
    let watching = tokio::spawn(watch::watch(
        live,
        Arc::clone(&door),
        serving.peer().clone(),
    ));
    let quit = serving.waiting().await;
    watching.abort();
    calls.cancel();
    drop((watching.await, door));
    // Every call holds a sender; when the last is gone, so are their workers.
    let _ = tokio::time::timeout(ENDING, all_calls.recv()).await;
    engine.flush(LAST_WORDS).await;
    quit?;
    Ok(())
}

/// Cancels the calls: at once on a signal, after a moment when the client hangs up.
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
