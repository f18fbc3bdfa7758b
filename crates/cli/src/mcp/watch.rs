//! Files that change while they are served.

use super::door::Door;
use super::log;
use super::offer::Offer;
use rmcp::service::{Peer, RoleServer};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tool_harness::diagnostic::Diagnostic;
use tool_harness::engine::{Live, Reload};

/// How often the files are looked at.
const EVERY: Duration = Duration::from_millis(250);
/// How long they must stay as they are before they are read: editors write in several steps, some by taking the old file away first.
const SETTLED: Duration = Duration::from_millis(100);

/// Looks at the project's files for as long as the door is open.
pub(super) async fn watch(live: Live, door: Arc<Door>, peer: Peer<RoleServer>) {
    let mut known = live.engine().report();
    loop {
        tokio::time::sleep(EVERY).await;
        let mut now = live.look();
        if now == live.stamp() {
            continue;
        }
        loop {
            tokio::time::sleep(SETTLED).await;
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
                serve(reload, &door, &peer).await;
            }
            Err(problem) => log::say(&format!("the project could not be loaded again: {problem}")),
        }
    }
}

/// Says what broke, and what is newly wrong.
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

/// Puts the new version in place, and tells the client when it would see other tools.
async fn serve(reload: Reload, door: &Door, peer: &Peer<RoleServer>) {
    let before = door.offer();
    let offer = Offer::new(reload.engine.clone(), &door.mode).unwrap_or_else(|problem| {
        // A root file that never was good: calls are refused and say why, nothing is listed.
        log::say(&format!(
            "nothing is offered until the root file is mended: {problem}"
        ));
        Offer::nothing(reload.engine)
    });
    let offer = Arc::new(offer);
    let same = offer.lists_as(&before);
    *door.offer.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&offer);
    log::say(&format!(
        "loaded again: {} offered",
        crate::output::count(offer.len(), "tool")
    ));
    if same {
        return;
    }
    door.listing.send_modify(|version| *version += 1);
    // Clients without a handshake hear of it through `subscriptions/listen` only.
    if peer.peer_info().is_some() {
        let _ = peer.notify_tool_list_changed().await;
    }
}
