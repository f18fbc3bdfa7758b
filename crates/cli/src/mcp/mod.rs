//! The MCP door: a project's tools over standard input and output. Nothing but the protocol is written to standard output.

mod answer;
mod door;
mod log;
mod offer;
mod progress;
mod read;
mod transport;
mod watch;

use crate::interrupt;
use crate::open;
use door::Door;
use offer::Offer;
use progress::Routes;
use rmcp::service::serve_directly_with_ct;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::Duration;
use tokio::sync::{mpsc, watch as version};
use tokio_util::sync::CancellationToken;
use tool_harness::artifact::Stamp;
use tool_harness::digest;
use tool_harness::live::Live;
use transport::Stdio;

/// How long calls may go on after the input has ended.
const GRACE: Duration = Duration::from_secs(1);
/// How long cancelled calls may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// Serves the project until the input ends or a signal comes.
pub(crate) async fn serve(project: &Path, mode: &str) -> anyhow::Result<()> {
    // Taken before the files are read: what is written meanwhile is noticed.
    let seen = Stamp::of(project);
    let routes = Arc::new(Routes::default());
    let live = Live::load(open::builder(project).sink(Arc::clone(&routes) as _)).await?;
    let engine = live.engine();
    open::running(&engine)?;
    let offer = Offer::new(engine, mode)?;
    log::diagnostics(offer.engine.diagnostics());

    let (ended, calls) = (CancellationToken::new(), CancellationToken::new());
    let (in_flight, mut all_calls) = mpsc::channel(1);
    let stdio = Stdio::open(&ended);
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
    let stop = interrupt::cancelled_by_signals();
    tokio::spawn(end_calls(ended, stop.clone(), calls.clone()));
    // Without a gate for the handshake: what comes before it is answered like everything else instead of ending the connection.
    let serving = serve_directly_with_ct(Arc::clone(&door), stdio, None, stop);
    let watching = tokio::spawn(watch::watch(live, seen, Arc::clone(&door), serving.peer().clone()));
    let quit = serving.waiting().await;
    watching.abort();
    calls.cancel();
    drop((watching.await, door));
    // Every call holds a sender; when the last is gone, so are their workers.
    let _ = tokio::time::timeout(ENDING, all_calls.recv()).await;
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
