//! Reloads the project when its files change.

use super::listing::Listing;
use super::log;
use super::server::McpServer;
use rmcp::service::{Peer, RoleServer};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tool_harness::diagnostic::Diagnostic;
use tool_harness::engine::{Live, Reload};

/// How often the files are checked.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long the files must stay unchanged before they are read: editors write in several steps, and
/// some remove the old file first.
const SETTLE: Duration = Duration::from_millis(100);

/// Watches the project's files until it is aborted.
pub(super) async fn watch(live: Live, server: Arc<McpServer>, peer: Peer<RoleServer>) {
    let mut known = live.engine().report();
    loop {
        tokio::time::sleep(INTERVAL).await;
        let mut now = live.look();
        if now == live.stamp() {
            continue;
        }
        loop {
            tokio::time::sleep(SETTLE).await;
            let again = live.look();
            if again == now {
                break;
            }
            now = again;
        }
        match live.reload().await {
            Ok(reload) => {
                let found = [
                    reload.diagnostics.clone(),
                    reload.engine.check_surface().diagnostics,
                ]
                .concat();
                report(&reload, &found, &known);
                known = found;
                publish(reload, &server, &peer).await;
            }
            Err(problem) => log::say(&format!("cannot reload the project: {problem}")),
        }
    }
}

/// Logs which files broke, and new findings.
fn report(reload: &Reload, found: &[Diagnostic], known: &[Diagnostic]) {
    for path in &reload.kept {
        log::kept(path);
    }
    let same = |a: &Diagnostic, b: &Diagnostic| {
        let place = |found: &Diagnostic| found.place.as_ref().map(ToString::to_string);
        a.code == b.code && a.message == b.message && place(a) == place(b)
    };
    log::diagnostics(
        found
            .iter()
            .filter(|found| !known.iter().any(|old| same(old, found))),
    );
}

/// Puts the new version in use, and tells the client if the tools changed.
async fn publish(reload: Reload, server: &McpServer, peer: &Peer<RoleServer>) {
    let before = server.listing();
    let listing = Listing::new(reload.engine.clone(), &server.mode).unwrap_or_else(|problem| {
        // The root file was never sound: nothing is listed, and refused calls say why.
        log::say(&format!(
            "nothing is offered until the root file is fixed: {problem}"
        ));
        Listing::empty(reload.engine)
    });
    let listing = Arc::new(listing);
    let same = listing.lists_as(&before);
    *server
        .listing
        .write()
        .unwrap_or_else(PoisonError::into_inner) = Arc::clone(&listing);
    log::say(&format!(
        "reloaded: {} offered",
        crate::output::count(listing.len(), "tool")
    ));
    if same {
        return;
    }
    server.version.send_modify(|version| *version += 1);
    // Clients without a handshake learn of it only through `subscriptions/listen`.
    if peer.peer_info().is_some() {
        let _ = peer.notify_tool_list_changed().await;
    }
}
