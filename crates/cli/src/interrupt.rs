//! Ctrl-C and SIGTERM.

use crate::exit::Exit;
use crate::output::Output;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

tokio::task_local! {
    /// The token of the running command, once it asked for one.
    static CANCEL: Arc<OnceLock<CancellationToken>>;
}

/// Runs a command. The first Ctrl-C or SIGTERM cancels the token of [`cancelled_by_signals`]; a
/// command that has not asked for it, such as while the project loads, is dropped. The second signal
/// ends the program at once.
pub(crate) async fn interruptible<T>(
    command: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<T> {
    let of_command = Arc::<OnceLock<CancellationToken>>::default();
    let dropped = CancellationToken::new();
    // If signals cannot be watched, their default action ends the program.
    if let (Ok(mut interrupt), Ok(mut terminate)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    ) {
        let (of_command, dropped) = (Arc::clone(&of_command), dropped.clone());
        tokio::spawn(async move {
            for token in [Some(of_command), None] {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                match token {
                    Some(of_command) => of_command.get().unwrap_or(&dropped).cancel(),
                    None => Exit::Stopped.at_once(),
                }
            }
        });
    }
    tokio::select! {
        biased;
        () = dropped.cancelled() => Err(Interruption.into()),
        ended = CANCEL.scope(of_command, command) => ended,
    }
}

/// A token that the first Ctrl-C or SIGTERM cancels. From now on the command ends itself.
pub(crate) fn cancelled_by_signals() -> CancellationToken {
    CANCEL
        .try_with(|token| token.get_or_init(CancellationToken::new).clone())
        .unwrap_or_default()
}

/// Says that a signal stopped the command before its end.
pub(crate) fn stopped(output: &mut Output) -> anyhow::Result<Exit> {
    output.say("stopped before the end")?;
    Ok(Exit::Stopped)
}

/// A signal dropped the command. Ends the program with [`Exit::Stopped`].
#[derive(Debug)]
pub(crate) struct Interruption;

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl std::error::Error for Interruption {}
