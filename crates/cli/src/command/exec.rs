//! `harness exec`: any command inside the project's sandbox plan.

use crate::exit::{Exit, Usage};
use crate::open::Folder;
use crate::output::{Output, look, paint, plain};
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

/// What a shell says of a program that is not there.
const NOT_FOUND: u8 = 127;
/// And of something that is there, and is none.
const NOT_EXECUTABLE: u8 = 126;
/// A command that was killed, as a shell would say it.
const KILLED: u8 = 128 + 9;
/// Added to a signal, as shells do.
const BY_SIGNAL: i32 = 128;
/// What becomes of a program that writes where nobody reads.
const BROKEN_PIPE: i32 = 13;
/// Chunks of input and output on their way.
const CHUNKS: usize = 16;
const CHUNK_BYTES: usize = 64 << 10;
/// A command without a limit of its own: longer than anybody waits.
const NO_LIMIT: Duration = Duration::from_secs(365 * 24 * 3600);
/// How long a reader has for what a command said that was ended.
const LAST_WORDS: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(crate) struct Exec {
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

impl Exec {
    pub(super) async fn run(self, folder: &Folder, output: &mut Output) -> anyhow::Result<Exit> {
        let engine = folder.open_plan().await?;
        let mut plan = engine
            .plan(None)
            .ok_or_else(|| Usage::new("the project has no plan"))?;
        plan.limits.deadline = self.timeout_ms.map_or(NO_LIMIT, Duration::from_millis);
        let mut words = self.command.into_iter();
        let program = words.next().unwrap_or_default();
        let (cancel, asked) = (CancellationToken::new(), Asked::default());
        let (to_output, from_command) = mpsc::channel(CHUNKS);
        let command = Command {
            cwd: Some(std::env::current_dir()?),
            stdin: Stdin::Stream(input()),
            output: process::Output::Stream(to_output),
            signals: Some(passed_on(&cancel, &asked)?),
            ..Command::new(program, words)
        };
        let machine = Machine::default();
        let sandbox = machine.sandbox(engine.registry().confines.containment);
        process::announce_last_call();
        let writing = writing(from_command, engine.redactor(), &cancel);
        let deadline = tokio::time::Instant::now() + plan.limits.deadline;
        let finished = sandbox.run(&plan, command, cancel.clone()).await;
        // Nothing of the command is left. What it said still has to find its reader, who has as much time as the command had.
        let is_stopped = matches!(&finished, Ok(finished) if matches!(finished.end, End::TimedOut | End::Cancelled));
        let written = tokio::select! {
            biased;
            written = writing => written?,
            () = sleep(LAST_WORDS), if is_stopped || asked.signal().is_some() => {
                without_a_reader(asked.exit());
                Ok(Written::All)
            }
            () = cancel.cancelled(), if !is_stopped => return Ok(without_a_reader(asked.exit())),
            () = sleep_until(deadline), if !is_stopped => return Ok(without_a_reader(Exit::Stopped)),
        };
        let written = written.context("what the command says cannot be passed on")?;
        match finished {
            // As for any program in a pipeline whose reader has had enough.
            Ok(_) if written == Written::Unread => Ok(by_signal(BROKEN_PIPE)),
            Ok(CommandOutcome {
                end: End::Cancelled,
                ..
            }) => Ok(asked.exit()),
            Ok(finished) => ended(&finished, engine.redactor(), output),
            Err(error) => refused(&error, engine.redactor(), output),
        }
    }
}

/// The last signal that asked for an end.
#[derive(Clone, Default)]
struct Asked(Arc<AtomicI32>);

impl Asked {
    fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }

    /// How the program ends that was asked to.
    fn exit(&self) -> Exit {
        self.signal().map_or(Exit::Stopped, by_signal)
    }
}

fn by_signal(signal: i32) -> Exit {
    Exit::As(u8::try_from(BY_SIGNAL + signal).unwrap_or(u8::MAX))
}

/// What became of what a command said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// All of it was written.
    All,
    /// Nobody reads it any more.
    Unread,
}

/// Ends the program in a moment, also when what is still to be said finds no reader.
fn without_a_reader(exit: Exit) -> Exit {
    std::thread::spawn(move || {
        std::thread::sleep(LAST_WORDS);
        process::wait_for_cleanup(LAST_WORDS);
        exit.at_once()
    });
    exit
}

/// What the command came to, as an exit code; what it cannot say itself goes to standard error.
fn ended(
    finished: &CommandOutcome,
    redactor: &Redactor,
    output: &mut Output,
) -> anyhow::Result<Exit> {
    for denial in &finished.denials {
        // What was denied is the command's own word.
        let clean = |text: &str| plain(&redactor.text(text)).to_string();
        output.say(&format!(
            "{}: {}: {}",
            paint(look::CAREFUL, "harness"),
            clean(&denial.what),
            clean(&denial.why)
        ))?;
    }
    let mut killed = |why: &str| {
        output.say(&format!(
            "{}: the command was killed: {why}",
            paint(look::BAD, "harness")
        ))
    };
    Ok(match finished.end {
        End::Exited(code) => Exit::As(u8::try_from(code).unwrap_or(u8::MAX)),
        End::Signalled(signal) => by_signal(signal),
        End::TimedOut => {
            killed("its time was up")?;
            Exit::Stopped
        }
        End::Cancelled => Exit::Stopped,
        End::Flooded => {
            killed("it wrote more than it may")?;
            Exit::As(KILLED)
        }
        End::OutOfMemory => {
            killed("it used more memory than it may")?;
            Exit::As(KILLED)
        }
        End::OutOfTime => {
            killed("it used more processor time than it may")?;
            Exit::As(KILLED)
        }
        End::Protected => {
            killed("a file that governs calls was made or replaced while it ran")?;
            Exit::Refused
        }
    })
}

/// The command never ran.
fn refused(error: &SandboxError, redactor: &Redactor, output: &mut Output) -> anyhow::Result<Exit> {
    let doctor = "`harness doctor` says what this machine lacks, and how to mend it";
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
    output.complain(&redactor.text(&error.to_string()), help)?;
    Ok(exit)
}

/// Standard input, read on a thread of its own, which the end of the program ends.
fn input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    std::thread::spawn(move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match io::stdin().read(&mut chunk) {
                Ok(0) => return,
                Ok(count) => {
                    if sender.blocking_send(chunk[..count].to_vec()).is_err() {
                        return;
                    }
                }
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    receiver
}

/// Writes what the command says as it comes, on a thread of its own: a reader who never reads is not waited for when the program ends.
fn writing(
    chunks: mpsc::Receiver<(Stream, Vec<u8>)>,
    redactor: &Redactor,
    cancel: &CancellationToken,
) -> oneshot::Receiver<io::Result<Written>> {
    let (done, written) = oneshot::channel();
    let cancel = cancel.clone();
    let clean = (redactor.stream(), redactor.stream());
    std::thread::spawn(move || done.send(write_out(chunks, clean, &cancel)));
    written
}

/// Writes each stream without its secrets: whoever reads it may be a model. Where nobody reads any more, the command has no reason to go on.
fn write_out(
    mut chunks: mpsc::Receiver<(Stream, Vec<u8>)>,
    (mut out, mut err): (redact::Stream, redact::Stream),
    cancel: &CancellationToken,
) -> io::Result<Written> {
    let mut ready = Vec::new();
    while let Some((stream, chunk)) = chunks.blocking_recv() {
        ready.clear();
        match stream {
            Stream::Out => out.push(&chunk, &mut ready),
            Stream::Err => err.push(&chunk, &mut ready),
        }
        if let Err(problem) = write(stream, &ready) {
            cancel.cancel();
            return unread(problem);
        }
    }
    for (stream, clean) in [(Stream::Out, out), (Stream::Err, err)] {
        ready.clear();
        clean.finish(&mut ready);
        if let Err(problem) = write(stream, &ready) {
            return unread(problem);
        }
    }
    Ok(Written::All)
}

fn unread(problem: io::Error) -> io::Result<Written> {
    if problem.kind() == io::ErrorKind::BrokenPipe {
        Ok(Written::Unread)
    } else {
        Err(problem)
    }
}

fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    let name = match stream {
        Stream::Out => "standard output is closed",
        Stream::Err => "standard error is closed",
    };
    if !bytes.is_empty() && was_closed(stream) {
        return Err(io::Error::other(name));
    }
    match stream {
        Stream::Out => io::stdout()
            .write_all(bytes)
            .and_then(|()| io::stdout().flush()),
        Stream::Err => io::stderr().write_all(bytes),
    }
}

/// Signals that the command gets as well. A second request to end ends everything the command started, and so does any signal that finds
/// no command.
fn passed_on(cancel: &CancellationToken, asked: &Asked) -> io::Result<mpsc::Receiver<i32>> {
    let (sender, receiver) = mpsc::channel(CHUNKS);
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
        SignalKind::window_change(),
    ] {
        let (mut signals, sender, cancel, asked) =
            (signal(kind)?, sender.clone(), cancel.clone(), asked.clone());
        let asks_to_end = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ]
        .contains(&kind);
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if asks_to_end && asked.0.swap(kind.as_raw_value(), Ordering::Relaxed) != 0 {
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
