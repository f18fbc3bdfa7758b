//! `harness exec`: any command inside the project's sandbox plan.

use crate::exit::{Exit, UsageError};
use crate::output::{Output, paint, plain, style};
use crate::project::ProjectArgs;
use anyhow::Context as _;
use clap::Args;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tool_harness::outside::Machine;
use tool_harness::redact::{self, Redactor};
use tool_harness_sandbox::process::{
    self, Command, CommandOutcome, End, SandboxError, Stdin, Stream, was_closed,
};

/// A shell's exit code for a program that does not exist.
const NOT_FOUND: u8 = 127;
/// A shell's exit code for a file that cannot be executed.
const NOT_EXECUTABLE: u8 = 126;
/// A shell's exit code for a command that was killed.
const KILLED: u8 = 128 + 9;
/// What shells add to the number of a signal.
const SIGNAL_BASE: i32 = 128;
/// The signal for a program that writes to a closed pipe.
const SIGPIPE: i32 = 13;
/// Chunks of input or output in a queue.
const CHUNKS: usize = 16;
const CHUNK_BYTES: usize = 64 << 10;
/// The deadline of a command without one.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long the reader of a stopped command has to read its output.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(crate) struct ExecArgs {
    /// Give up after this many milliseconds [default: no limit]
    #[arg(long, value_name = "MS")]
    timeout_ms: Option<u64>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

impl ExecArgs {
    pub(super) async fn run(
        self,
        project: &ProjectArgs,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let engine = project.open_plan().await?;
        let mut plan = engine
            .plan(None)
            .ok_or_else(|| UsageError::new("the project has no plan"))?;
        plan.limits.deadline = self.timeout_ms.map_or(NO_LIMIT, Duration::from_millis);
        let mut words = self.command.into_iter();
        let program = words.next().unwrap_or_default();
        let (cancel, end) = (CancellationToken::new(), EndRequest::default());
        let (to_output, from_command) = mpsc::channel(CHUNKS);
        let command = Command {
            cwd: Some(std::env::current_dir()?),
            stdin: Stdin::Stream(input()),
            output: process::Output::Stream(to_output),
            signals: Some(forward_signals(&cancel, &end)?),
            ..Command::new(program, words)
        };
        let machine = Machine::default();
        let sandbox = machine.sandbox(engine.default_view().sandbox.containment);
        process::announce_last_call();
        let writing = forward_output(from_command, engine.redactor(), &cancel);
        let deadline = tokio::time::Instant::now() + plan.limits.deadline;
        let finished = sandbox.run(&plan, command, cancel.clone()).await;
        // The command has ended. Its output may still wait for the reader, until the command's
        // deadline.
        let is_stopped = matches!(&finished, Ok(finished) if matches!(finished.end, End::TimedOut | End::Cancelled));
        let written = tokio::select! {
            biased;
            written = writing => written?,
            () = sleep(FLUSH_TIMEOUT), if is_stopped || end.signal().is_some() => {
                exit_soon(end.exit());
                Ok(Forwarding::All)
            }
            () = cancel.cancelled(), if !is_stopped => return Ok(exit_soon(end.exit())),
            () = sleep_until(deadline), if !is_stopped => return Ok(exit_soon(Exit::Stopped)),
        };
        let written = written.context("cannot pass on the output of the command")?;
        match finished {
            // Like any program in a pipeline whose reader is gone.
            Ok(_) if written == Forwarding::ReaderGone => Ok(by_signal(SIGPIPE)),
            Ok(CommandOutcome {
                end: End::Cancelled,
                ..
            }) => Ok(end.exit()),
            Ok(finished) => ended(&finished, engine.redactor(), output),
            Err(error) => refused(&error, engine.redactor(), output),
        }
    }
}

/// The last signal that asked harness to end.
#[derive(Clone, Default)]
struct EndRequest(Arc<AtomicI32>);

impl EndRequest {
    fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// The exit code for that signal.
    fn exit(&self) -> Exit {
        self.signal().map_or(Exit::Stopped, by_signal)
    }
}

fn by_signal(signal: i32) -> Exit {
    Exit::As(u8::try_from(SIGNAL_BASE + signal).unwrap_or(u8::MAX))
}

/// How far the output of a command was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forwarding {
    /// To its end.
    All,
    /// Until the reader closed the pipe.
    ReaderGone,
}

/// Ends the program in a moment, even if it cannot write the rest of its output.
fn exit_soon(exit: Exit) -> Exit {
    std::thread::spawn(move || {
        std::thread::sleep(FLUSH_TIMEOUT);
        process::wait_for_cleanup(FLUSH_TIMEOUT);
        exit.at_once()
    });
    exit
}

/// The exit code of a command that ended. Why harness killed it, or denied it something, goes to
/// standard error.
fn ended(
    finished: &CommandOutcome,
    redactor: &Redactor,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    for denial in &finished.denials {
        // The denial quotes the command, which may contain secrets.
        let clean = |text: &str| plain(&redactor.text(text)).to_string();
        output.say(&format!(
            "{}: {}: {}",
            paint(style::CAREFUL, "harness"),
            clean(&denial.what),
            clean(&denial.why)
        ))?;
    }
    let (exit, why) = match finished.end {
        End::Exited(code) => return Ok(Exit::As(u8::try_from(code).unwrap_or(u8::MAX))),
        End::Signalled(signal) => return Ok(by_signal(signal)),
        End::Cancelled => return Ok(Exit::Stopped),
        End::TimedOut => (Exit::Stopped, "it ran out of time"),
        End::Flooded => (Exit::As(KILLED), "it wrote too much output"),
        End::OutOfMemory => (Exit::As(KILLED), "it used too much memory"),
        End::OutOfTime => (Exit::As(KILLED), "it used too much processor time"),
        End::Protected => (Exit::Refused, "it led Git to settings that nobody judged"),
    };
    let harness = paint(style::BAD, "harness");
    output.say(&format!("{harness}: the command was killed: {why}"))?;
    Ok(exit)
}

/// The exit code of a command that never ran.
fn refused(error: &SandboxError, redactor: &Redactor, output: &mut Output) -> anyhow::Result<Exit> {
    let doctor = "`harness doctor` shows what this machine lacks, and how to fix it";
    let (exit, help) = match error {
        SandboxError::NotFound { .. } => (Exit::As(NOT_FOUND), None),
        SandboxError::NotExecutable { .. } | SandboxError::Start { .. } => {
            (Exit::As(NOT_EXECUTABLE), None)
        }
        SandboxError::NotAllowed { .. } | SandboxError::BadFolder(_) => (Exit::Refused, None),
        SandboxError::NullCharacter(_) => (Exit::Failed, None),
        SandboxError::NoSandbox(_) | SandboxError::BadPlace { .. } | SandboxError::SetUp { .. } => {
            (Exit::Usage, Some(doctor))
        }
    };
    output.error(&redactor.text(&error.to_string()), help)?;
    Ok(exit)
}

/// Standard input, read on a separate thread, which ends with the program.
fn input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    std::thread::spawn(move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let sent = match io::stdin().read(&mut chunk) {
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => return,
                Ok(count) => sender.blocking_send(chunk[..count].to_vec()),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    receiver
}

/// Writes the output of the command as it comes, on a separate thread: the program can end
/// although the reader does not read. If the reader closes it, the command is cancelled.
fn forward_output(
    chunks: mpsc::Receiver<(Stream, Vec<u8>)>,
    redactor: &Redactor,
    cancel: &CancellationToken,
) -> oneshot::Receiver<io::Result<Forwarding>> {
    let (done, written) = oneshot::channel();
    let cancel = cancel.clone();
    let clean = (redactor.stream(), redactor.stream());
    std::thread::spawn(move || {
        let end = write_out(chunks, clean);
        let is_lost = !matches!(end, Ok(Forwarding::All));
        // The reason first: it decides the exit code, and cancelling ends the wait for it.
        let _ = done.send(end);
        if is_lost {
            cancel.cancel();
        }
    });
    written
}

/// Writes each stream without its secrets, because a model may read it.
fn write_out(
    mut chunks: mpsc::Receiver<(Stream, Vec<u8>)>,
    (mut out, mut err): (redact::Stream, redact::Stream),
) -> io::Result<Forwarding> {
    let mut ready = Vec::new();
    while let Some((stream, chunk)) = chunks.blocking_recv() {
        ready.clear();
        match stream {
            Stream::Out => out.push(&chunk, &mut ready),
            Stream::Err => err.push(&chunk, &mut ready),
        }
        if let Err(problem) = write(stream, &ready) {
            return reader_gone(problem);
        }
    }
    for (stream, clean) in [(Stream::Out, out), (Stream::Err, err)] {
        ready.clear();
        clean.finish(&mut ready);
        if let Err(problem) = write(stream, &ready) {
            return reader_gone(problem);
        }
    }
    Ok(Forwarding::All)
}

fn reader_gone(problem: io::Error) -> io::Result<Forwarding> {
    if problem.kind() == io::ErrorKind::BrokenPipe {
        Ok(Forwarding::ReaderGone)
    } else {
        Err(problem)
    }
}

fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    if !bytes.is_empty() && was_closed(stream) {
        return Err(io::Error::other(match stream {
            Stream::Out => "standard output is closed",
            Stream::Err => "standard error is closed",
        }));
    }
    match stream {
        Stream::Out => io::stdout()
            .write_all(bytes)
            .and_then(|()| io::stdout().flush()),
        Stream::Err => io::stderr().write_all(bytes),
    }
}

/// Forwards signals to the command. A second request to end kills everything it started, and so
/// does any signal once the command has ended.
fn forward_signals(
    cancel: &CancellationToken,
    end: &EndRequest,
) -> io::Result<mpsc::Receiver<i32>> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let ending = [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let others = [
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
        SignalKind::window_change(),
    ];
    for kind in ending.into_iter().chain(others) {
        let (mut signals, sender, cancel, end) =
            (signal(kind)?, sender.clone(), cancel.clone(), end.clone());
        let asks_to_end = ending.contains(&kind);
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if asks_to_end && end.0.swap(kind.as_raw_value(), Ordering::Relaxed) != 0 {
                    cancel.cancel();
                }
                if sender.send(kind.as_raw_value()).await.is_err()
                    && kind != SignalKind::window_change()
                {
                    cancel.cancel();
                    return;
                }
            }
        });
    }
    Ok(receiver)
}
