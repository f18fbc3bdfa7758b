//! Ctrl-C and termination.

use crate::exit::Exit;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// The token of the running command, once it has asked for one.
    static ANSWERED_BY: Arc<OnceLock<CancellationToken>>;
}

/// Runs a command. The first Ctrl-C or SIGTERM cancels what the command gave to [`cancelled_by_signals`], or ends it where it stands, as while
/// the project is loaded; the second ends the program at once.
pub(crate) async fn ending<T>(
    command: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let (answered_by, unanswered) = (
        Arc::<OnceLock<CancellationToken>>::default(),
        CancellationToken::new(),
    );
    // Where signals cannot be watched their default action stays in force, which ends the program as well.
    if let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) {
        let (answered_by, unanswered) = (Arc::clone(&answered_by), unanswered.clone());
        tokio::spawn(async move {
            for token in [Some(answered_by), None] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                match token {
                    Some(answered_by) => answered_by.get().unwrap_or(&unanswered).cancel(),
                    None => Exit::Stopped.at_once(),
                }
            }
        });
    }
    tokio::select! {
        biased;
        () = unanswered.cancelled() => Err(Interrupted.into()),
        ended = ANSWERED_BY.scope(answered_by, command) => ended,
    }
}

/// A token that the first Ctrl-C or SIGTERM cancels: the command answers it from now on.
pub(crate) fn cancelled_by_signals() -> CancellationToken {
    ANSWERED_BY
        .try_with(|token| token.get_or_init(CancellationToken::new).clone())
        .unwrap_or_default()
}

/// A signal ended the command before it could answer. Ends the program with [`Exit::Stopped`].
#[derive(Debug)]
pub(crate) struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}
