//! The seam to the outside: whatever a tool starts or sends goes through one trait. The machine
//! answers it, or an example does.

mod answers;
mod machine;

pub use answers::Answers;
pub use machine::Machine;
pub use tool_harness_sandbox::network::{Request, Response};
pub use tool_harness_sandbox::process::DenialLayer;

use crate::containment::Containment;
use crate::isolate::{Isolated, caught};
use crate::result::ArtifactRef;
use std::fs::File;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::network::{Domains, Host};
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::tier::{Enforcement, Tier};

/// An answer that takes its time.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refused>> + Send + 'a>>;

/// What tools reach beyond their files.
pub trait Outside: Send + Sync {
    /// How strongly processes are contained.
    fn tier(&self) -> Tier;

    /// Runs a command under a plan, to its end, its deadline or a cancel. Nothing it started is
    /// left when this is answered.
    fn run<'a>(
        &'a self,
        plan: &'a Plan,
        containment: Containment,
        command: Command,
        cancel: CancellationToken,
    ) -> Pending<'a, Ran>;

    /// Sends a request to a host of a list, and judges each one it leads to. It takes no longer
    /// than `time`, all in all.
    fn send<'a>(
        &'a self,
        hosts: &'a Domains,
        request: Request,
        time: Duration,
        cancel: CancellationToken,
    ) -> Pending<'a, Response>;
}

/// How strongly processes are contained; not at all, when the outside cannot even say.
pub(crate) fn tier(outside: &dyn Outside) -> Tier {
    caught(|| outside.tier()).unwrap_or(Tier::None)
}

/// What an outside answers. It may be the host's own, and panic.
pub(crate) async fn asked<'a, T>(ask: impl FnOnce() -> Pending<'a, T>) -> Result<T, Refused> {
    let answer = match caught(ask) {
        Some(answer) => Isolated::new(answer).await,
        None => None,
    };
    answer.unwrap_or_else(|| {
        Err(Refused::Failed(
            "the host's own outside panicked".to_owned(),
        ))
    })
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program, by name or path.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The folder it starts in.
    pub cwd: PathBuf,
    /// What it reads.
    pub stdin: String,
}

/// A command that ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// What it wrote.
    pub stdout: Text,
    /// What it wrote to its error stream.
    pub stderr: Text,
    /// How long it took.
    pub duration: Duration,
    /// What the kernel enforced; absent when no process ran.
    pub enforced: Option<Enforcement>,
    /// What it tried and was refused.
    pub denials: Vec<Denial>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// At its deadline.
    TimedOut,
    /// Because the call was cancelled.
    Cancelled,
    /// Because it went beyond a limit, in words.
    Exceeded(String),
}

/// What was read of a stream.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Its head and tail, with a mark where something is left out.
    pub text: String,
    /// Whether something is left out.
    pub truncated: bool,
    /// All of it, from its start, where something is left out.
    pub spill: Option<Arc<File>>,
    /// Where all of it is kept.
    pub artifact: Option<ArtifactRef>,
}

impl Text {
    /// A text that is complete.
    #[must_use]
    pub fn whole(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// Something that was tried and refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What kind.
    pub kind: DenialKind,
    /// What was tried: a host, a path.
    pub what: String,
    /// Why not.
    pub why: String,
    /// What refused it.
    pub layer: DenialLayer,
}

/// What kind of thing was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialKind {
    /// A host.
    Network,
    /// A file.
    File,
    /// Going on: it was killed.
    Process,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The plan does not allow it.
    Denied {
        /// What and why.
        message: String,
        /// The host, where it is about one.
        host: Option<String>,
    },
    /// The machine cannot contain it.
    Unavailable {
        /// What is missing.
        message: String,
        /// What a person can do about it.
        help: String,
    },
    /// It went wrong by itself.
    Failed(String),
}

impl Refused {
    /// What it says.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Denied { message, .. }
            | Self::Unavailable { message, .. }
            | Self::Failed(message) => message,
        }
    }
}

/// Whether an address may be asked, as far as its text says.
pub(crate) fn judge_address(hosts: &Domains, address: &str) -> Result<(), Refused> {
    let failed = |why: &str| {
        Refused::Failed(format!(
            "`{address}` is not an address that can be asked: {why}"
        ))
    };
    let url = url::Url::parse(address).map_err(|error| failed(&error.to_string()))?;
    let port = match url.scheme() {
        "http" => url.port().unwrap_or(80),
        "https" => url.port().unwrap_or(443),
        _ => return Err(failed("only http and https are supported")),
    };
    let host = url.host_str().ok_or_else(|| failed("it has no host"))?;
    let host = Host::parse(host).map_err(|error| failed(&error.to_string()))?;
    hosts.check(&host, port).map_err(|refused| Refused::Denied {
        message: refused.to_string(),
        host: Some(host.to_string()),
    })
}
