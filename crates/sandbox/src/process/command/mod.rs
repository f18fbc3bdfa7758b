//! Commands of tools, contained by the kernel.
//!
//! A command is started by way of a tiny helper (`helper/`) that follows three blocks of system calls filled in here ([`block`], [`script`]):
//! one makes the namespaces ([`ground`]) while the workspace is looked at, one makes the place in them, and one starts the command there. What
//! they say comes from the plan ([`prepare`]): [`view`] the files, [`landlock`]
//! and [`filter`] the rights, [`limit`], [`cgroup`], [`crowd`] and [`memory`] the limits, [`net`] the network. Places can be made ahead: [`ready`]. [`watch`] reads
//! what the command says, and ends it.

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

use crate::tier::Enforced;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

pub use error::SandboxError;
pub use helper::network::{Guard, Serve};
pub use leftovers::pending::{last_call, settle};
pub use output::text::shown;
pub use sandbox::Sandbox;

/// What to run.
#[derive(Debug)]
pub struct Command {
    /// A path, or a name that is looked for in the `PATH` of the plan's environment.
    pub program: OsString,
    /// Its arguments, without its name.
    pub args: Vec<OsString>,
    /// Where it starts: the workspace, or a folder in it, in a readable or a writable place, or in `/tmp`.
    pub cwd: Option<PathBuf>,
    /// What it reads.
    pub stdin: Stdin,
    /// Where its output goes.
    pub output: Output,
    /// Signals to pass on to it.
    pub signals: Option<mpsc::Receiver<i32>>,
}

impl Command {
    /// A command in the workspace that reads nothing and whose output is kept.
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

/// What a command reads.
#[derive(Debug)]
pub enum Stdin {
    /// Nothing.
    Empty,
    /// These bytes.
    Bytes(Vec<u8>),
    /// What comes, until the sender is dropped.
    Stream(mpsc::Receiver<Vec<u8>>),
}

/// Where the output of a command goes.
#[derive(Debug)]
pub enum Output {
    /// Into [`Finished`], as text.
    Capture,
    /// To a receiver, as it comes. No bound but the receiver's.
    Stream(mpsc::Sender<(Stream, Vec<u8>)>),
}

/// One of the two ways out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// A command that ended, and everything it started with it.
#[derive(Debug)]
pub struct Finished {
    /// How.
    pub end: End,
    /// What it said.
    pub stdout: Captured,
    /// What it complained about.
    pub stderr: Captured,
    /// How long it took.
    pub duration: Duration,
    /// What the kernel enforced.
    pub enforced: Enforced,
    /// What was refused or stopped, where that is known.
    pub denials: Vec<Denial>,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// Its time was up.
    TimedOut,
    /// The caller no longer wanted it.
    Cancelled,
    /// It said more than it may.
    Flooded,
    /// It used more memory than it may.
    OutOfMemory,
    /// It used more processor time than it may.
    OutOfTime,
    /// A file that governs calls was made or replaced while it ran.
    Protected,
}

/// One stream of output.
#[derive(Debug, Default)]
pub struct Captured {
    /// Its start and its end, with a note between them about what is missing. Valid text without terminal escapes.
    pub text: String,
    /// Whether something is missing.
    pub truncated: bool,
    /// How much there was.
    pub bytes: u64,
    /// When something is missing: all of it, as it came, in a file without a name. It is read from its start.
    pub spill: Option<File>,
}

/// What refuses or stops something.
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

impl std::fmt::Display for DenialLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
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
