//! Ctrl-C and termination.

use crate::exit::Exit;
use tokio_util::sync::CancellationToken;

/// A token that the first Ctrl-C or SIGTERM cancels; the second ends the program at once.
pub(crate) fn cancelled_by_signals() -> CancellationToken {
    let token = CancellationToken::new();
    let cancel = token.clone();
    tokio::spawn(async move {
        if signal().await {
            cancel.cancel();
        }
        if signal().await {
            std::process::exit(Exit::Stopped as i32);
        }
    });
    token
}

/// Waits for a signal; `false` when none can be waited for, so that the default action stays in force.
async fn signal() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            return tokio::select! {
                pressed = tokio::signal::ctrl_c() => pressed.is_ok(),
                received = terminate.recv() => received.is_some(),
            };
        }
    }
    tokio::signal::ctrl_c().await.is_ok()
}
