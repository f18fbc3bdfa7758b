//! The seam to the outside: tools start commands and send requests through one trait. This machine
//! implements it, and so does an example's script.

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

/// The future of an answer.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refused>> + Send + 'a>>;

/// What tools reach beyond their files.
pub trait Outside: Send + Sync {
    /// How strongly it contains processes.
    fn tier(&self) -> Tier;

    /// Runs a command under a plan until it ends, times out or is cancelled. No process it started
    /// survives the answer.
    fn run<'a>(
        &'a self,
        plan: &'a Plan,
        containment: Containment,
        command: Command,
        cancel: CancellationToken,
    ) -> Pending<'a, Ran>;

    /// Sends a request to one of the listed hosts, and checks each redirect. It takes at most
    /// `time` in total.
    fn send<'a>(
        &'a self,
        hosts: &'a Domains,
        request: Request,
        time: Duration,
        cancel: CancellationToken,
    ) -> Pending<'a, Response>;
}

/// How strongly the outside contains processes; a panic counts as not at all.
pub(crate) fn tier(outside: &dyn Outside) -> Tier {
    caught(|| outside.tier()).unwrap_or(Tier::None)
}

/// Asks an outside. The host may have implemented it, so a panic becomes a failure.
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
    /// Its standard input.
    pub stdin: String,
}

/// A command that ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub stdout: Text,
    /// Its standard error.
    pub stderr: Text,
    /// How long it took.
    pub duration: Duration,
    /// What the kernel enforced; `None` if no process ran.
    pub enforced: Option<Enforcement>,
    /// What it tried and was refused.
    pub denials: Vec<Denial>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It reached its deadline.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// It exceeded this limit.
    Exceeded(String),
}

/// The text of a stream.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Its head and tail, with a mark where text was cut.
    pub text: String,
    /// Whether text was cut.
    pub truncated: bool,
    /// The complete stream, if text was cut.
    pub spill: Option<Arc<File>>,
    /// The artifact that holds the complete stream.
    pub artifact: Option<ArtifactRef>,
}

impl Text {
    /// A complete text.
    #[must_use]
    pub fn whole(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

/// An access that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// What kind.
    pub kind: DenialKind,
    /// What was tried: a host or a path.
    pub what: String,
    /// Why it was refused.
    pub why: String,
    /// What refused it.
    pub layer: DenialLayer,
}

/// The kinds of refused access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DenialKind {
    /// Reaching a host.
    Network,
    /// Accessing a file.
    File,
    /// Continuing to run: the process was killed.
    Process,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The plan does not allow it.
    Denied {
        /// What was denied, and why.
        message: String,
        /// The host, if the denial is about one.
        host: Option<String>,
    },
    /// The machine cannot contain it.
    Unavailable {
        /// What is missing.
        message: String,
        /// What a person can do about it.
        help: String,
    },
    /// The attempt itself failed.
    Failed(String),
}

impl Refused {
    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Denied { message, .. }
            | Self::Unavailable { message, .. }
            | Self::Failed(message) => message,
        }
    }
}

/// Whether the hosts allow an address, judged by its text alone.
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
