//! Commands of tools, contained by the kernel.
//!
//! Every command starts as a tiny helper ([`helper`]) that executes three blocks of system calls
//! filled in here: one makes the namespaces ([`namespaces`]) while the harness looks at the
//! workspace, one makes the container in them, and one starts the command there. The plan decides
//! what they contain ([`prepare`]): which files the command sees ([`files`]), how much it may use
//! ([`limits`]), and what it must not change ([`protect`]). Containers can be made ahead
//! ([`warm`]). [`watch`] reads the output of the command ([`output`]) and ends it; [`leftovers`]
//! removes what it leaves.

mod detect;
mod enforced;
mod error;
mod files;
mod helper;
mod leftovers;
mod limits;
mod namespaces;
mod output;
mod prepare;
mod protect;
mod sandbox;
mod warm;
mod watch;

use crate::tier::Enforcement;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

pub use error::SandboxError;
pub use helper::network::{RunningRelay, StartRelay};
pub use leftovers::pending::{announce_last_call, wait_for_cleanup};
pub use output::text::printable;
pub use sandbox::Sandbox;

/// What to run.
#[derive(Debug)]
pub struct Command {
    /// A path, or a name to look up in the `PATH` of the plan's environment.
    pub program: OsString,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Where it starts: the workspace, or a folder in it, in a readable or writable place, or in
    /// `/tmp`. Defaults to the workspace.
    pub cwd: Option<PathBuf>,
    /// Its input.
    pub stdin: Stdin,
    /// Where its output goes.
    pub output: Output,
    /// Signals to pass on to it.
    pub signals: Option<mpsc::Receiver<i32>>,
}

impl Command {
    /// A command in the workspace without input, whose output is captured.
    pub fn new(
        program: impl Into<OsString>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self {
            program: program.into(),
            args,
            cwd: None,
            stdin: Stdin::Empty,
            output: Output::Capture,
            signals: None,
        }
    }
}

/// The input of a command.
#[derive(Debug)]
pub enum Stdin {
    /// Nothing.
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Chunks, until the sender is dropped.
    Stream(mpsc::Receiver<Vec<u8>>),
}

/// Where the output of a command goes.
#[derive(Debug)]
pub enum Output {
    /// Into [`CommandOutcome`], as text.
    Capture,
    /// To a receiver, chunk by chunk. Only the receiver limits it.
    Stream(mpsc::Sender<(Stream, Vec<u8>)>),
}

/// An output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A command that ended, with everything it started.
#[derive(Debug)]
pub struct CommandOutcome {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub stdout: CapturedOutput,
    /// Its standard error.
    pub stderr: CapturedOutput,
    /// How long it took.
    pub duration: Duration,
    /// What the kernel enforced.
    pub enforced: Enforcement,
    /// What was refused or stopped, as far as known.
    pub denials: Vec<Denial>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// It reached its deadline.
    TimedOut,
    /// Its caller cancelled it.
    Cancelled,
    /// It wrote too much output.
    Flooded,
    /// It used too much memory.
    OutOfMemory,
    /// It used too much processor time.
    OutOfTime,
    /// It led Git to settings that nobody judged.
    Protected,
}

/// One stream of output.
#[derive(Debug, Default)]
pub struct CapturedOutput {
    /// Its start and its end, with a note between them about the missing part. Valid text without
    /// terminal escapes.
    pub text: String,
    /// Whether a part is missing.
    pub truncated: bool,
    /// Its full length.
    pub bytes: u64,
    /// If a part is missing: all of it, as written, in an unnamed file, rewound.
    pub spill: Option<File>,
}

/// What refused or stopped something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialLayer {
    /// The relay that answers the connections of commands.
    Network,
    /// The harness's own HTTP client.
    Http,
    /// The watch over protected files.
    Files,
    /// A resource limit.
    Limits,
    /// The harness itself: at a deadline, or because its caller cancelled.
    Harness,
}

impl DenialLayer {
    /// Its word in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Http => "http",
            Self::Files => "files",
            Self::Limits => "limits",
            Self::Harness => "harness",
        }
    }
}

/// Something that was refused or stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What stopped it.
    pub layer: DenialLayer,
    /// What was tried.
    pub what: String,
    /// Why it was refused.
    pub why: String,
}
