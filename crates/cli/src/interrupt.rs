//! Ctrl-C and termination.

use crate::exit::Exit;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first Ctrl-C or SIGTERM cancels; the second ends the program at once.
pub(crate) fn cancelled_by_signals() -> CancellationToken {
    let token = CancellationToken::new();
    // Where signals cannot be watched their default action stays in force, which ends the program as well.
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return token;
    };
    let cancel = token.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if cancel.is_cancelled() {
                std::process::exit(Exit::Stopped as i32);
            }
            cancel.cancel();
        }
    });
    token
}
