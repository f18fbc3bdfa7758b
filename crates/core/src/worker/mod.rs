//! Script workers: a pool of confined processes, and the requests they answer.

pub mod protocol;
pub mod script;
pub mod spelling;
pub mod wire;

mod channel;
mod drive;
mod pool;

pub(crate) use drive::{ChainLink, Crossing, ToolLimits};
pub(crate) use pool::DEFAULT_MEMORY_MB;

use crate::facts::FactsBySource;
use crate::facts::{Facts, ScriptKind, Unread};
use crate::refusal::Code;
use crate::span::Position;
use channel::{Worker, WorkerLoss};
use drive::EndCause;
use pool::{Lease, LeaseError, Pool, Purpose};
use protocol::{Failure, FailureKind, Request, Response};
use script::Scripts;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{
    DeathCause, MAX_PARTS, WorkerLimits, WorkerProcess, WorkerProgram,
};

static ANNOUNCED: OnceLock<WorkerProgram> = OnceLock::new();

/// Registers the program that is its own script worker. The first call wins.
pub fn announce(program: WorkerProgram) {
    let _ = ANNOUNCED.set(program);
}

/// The registered program.
#[must_use]
pub fn announced() -> Option<WorkerProgram> {
    ANNOUNCED.get().cloned()
}

/// Starts a worker and waits until it is confined, to see whether this machine supports it.
pub async fn try_start() -> Result<(), String> {
    let program = announced().ok_or("this program starts no workers")?;
    Worker::start(&program, &WorkerLimits::default())
        .await
        .map(drop)
}

/// How long checking one script may take.
const CHECK_TIME: Duration = Duration::from_secs(5);
/// Scripts sent to a worker before its answers are read.
const CHECK_WINDOW: usize = 16;
/// Bytes sent to a worker before its answers are read: less than a pipe holds.
const CHECK_WINDOW_BYTES: usize = 32 << 10;

/// The workers of one engine.
#[derive(Debug)]
pub(crate) struct Workers {
    pool: Pool,
    places: usize,
    /// Numbers of scripts.
    pub(crate) scripts: Scripts,
}

/// A source and its facts, or why there are none.
type SourceFacts = ((ScriptKind, Arc<str>), Result<Facts, Unread>);

/// Why a script gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScriptError {
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Where in the script, if the worker could tell.
    pub(crate) position: Option<Position>,
    /// Whether the script is wrong, whatever its arguments were.
    pub(crate) is_bug: bool,
}

impl Workers {
    pub(crate) fn new(
        program: Option<WorkerProgram>,
        first: Option<WorkerProcess>,
        places: usize,
    ) -> Self {
        Self {
            pool: Pool::new(program, first, places),
            places: places.max(1),
            scripts: Scripts::default(),
        }
    }

    /// Workers in use, and idle ones.
    pub(crate) fn census(&self) -> (usize, usize) {
        (self.pool.busy(), self.pool.idle())
    }

    /// The facts of every source, or why there are none.
    pub(crate) async fn facts(&self, sources: Vec<(ScriptKind, Arc<str>)>) -> FactsBySource {
        let (tools, policy): (Vec<_>, Vec<_>) = sources
            .into_iter()
            .partition(|(kind, _)| *kind == ScriptKind::Tool);
        let share = (tools.len() + policy.len()).div_ceil(self.places).max(1);
        let shares = tools
            .chunks(share)
            .map(|chunk| self.facts_of(Purpose::Check, chunk));
        let shares = shares.chain(
            policy
                .chunks(share)
                .map(|chunk| self.facts_of(Purpose::Policy, chunk)),
        );
        join_all(shares).await.into_iter().flatten().collect()
    }

    async fn facts_of(
        &self,
        purpose: Purpose,
        sources: &[(ScriptKind, Arc<str>)],
    ) -> Vec<SourceFacts> {
        let mut found = Vec::with_capacity(sources.len());
        while found.len() < sources.len() {
            let rest = &sources[found.len()..];
            let never = CancellationToken::new();
            let lease = self
                .lease(
                    purpose.clone(),
                    Instant::now() + Duration::from_secs(60),
                    &never,
                )
                .await;
            let mut lease = match lease {
                Ok(lease) => lease,
                Err(error) => {
                    let unread = Unread::NoWorker {
                        code: error.code,
                        why: error.message,
                    };
                    found.extend(
                        rest.iter()
                            .map(|source| (source.clone(), Err(unread.clone()))),
                    );
                    break;
                }
            };
            let before = found.len();
            match self.facts_from(&mut lease, rest, &mut found).await {
                Ok(()) => self.pool.give_back(lease),
                Err(ended) => {
                    let culprit = found.len();
                    found.push((
                        sources[culprit].clone(),
                        Err(Unread::Crashed(ScriptError::from(ended).message)),
                    ));
                }
            }
            debug_assert!(found.len() > before, "every round finds at least one");
        }
        found
    }

    async fn facts_from(
        &self,
        lease: &mut Lease,
        sources: &[(ScriptKind, Arc<str>)],
        found: &mut Vec<SourceFacts>,
    ) -> Result<(), EndCause> {
        let mut rest = sources;
        while !rest.is_empty() {
            let mut frames = Vec::new();
            let mut count = 0;
            for (kind, source) in rest {
                let request = Request::Check {
                    kind: *kind,
                    source: source.to_string(),
                };
                let encoded = request
                    .encode()
                    .and_then(|frame| lease.worker.push(&frame, &mut frames));
                encoded.map_err(|_| EndCause::WorkerLost(WorkerLoss::Unsendable))?;
                count += 1;
                if count >= CHECK_WINDOW || frames.len() >= CHECK_WINDOW_BYTES {
                    break;
                }
            }
            let sent = tokio::time::timeout(CHECK_TIME, lease.worker.send(&frames)).await;
            sent.map_err(|_| EndCause::Deadline)?
                .map_err(EndCause::WorkerLost)?;
            for source in &rest[..count] {
                let word =
                    tokio::time::timeout(CHECK_TIME, lease.worker.receive(MAX_DECISION_BYTES))
                        .await;
                let Ok(Response::Facts(text)) = word
                    .map_err(|_| EndCause::Deadline)?
                    .map_err(EndCause::WorkerLost)
                    .map(Ok::<_, ()>)?
                else {
                    return Err(EndCause::WorkerLost(WorkerLoss::Died {
                        cause: DeathCause::Other,
                        part: None,
                    }));
                };
                found.push((
                    source.clone(),
                    serde_json::from_str(&text).map_err(|error| Unread::Crashed(error.to_string())),
                ));
            }
            rest = &rest[count..];
        }
        Ok(())
    }

    async fn lease(
        &self,
        purpose: Purpose,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Lease, ScriptError> {
        tokio::select! {
            biased;
            lease = self.pool.lease(purpose) => lease.map_err(ScriptError::from),
            () = cancel.cancelled() => Err(ScriptError::new(Code::Cancelled, "cancelled while waiting for a worker")),
            () = tokio::time::sleep_until(deadline) => Err(ScriptError::new(Code::Timeout, "no worker was free before the deadline")),
        }
    }
}

/// Hooks per round trip: as many as the report of a dying worker can tell apart.
pub(crate) const MAX_LINKS: usize = MAX_PARTS;

/// Bytes of the answer of a hook or a check.
const MAX_DECISION_BYTES: u64 = 8 << 20;

impl ScriptError {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            position: None,
            is_bug: false,
        }
    }
}

impl From<Failure> for ScriptError {
    fn from(failure: Failure) -> Self {
        let code = match failure.kind {
            FailureKind::Raised | FailureKind::Bug => Code::Failed,
            FailureKind::Recursion => Code::ScriptRecursion,
            FailureKind::Wall => Code::Timeout,
            FailureKind::Steps => Code::ScriptSteps,
            FailureKind::Memory => Code::ScriptMemory,
            FailureKind::Result => Code::ScriptResult,
        };
        let position = (failure.line > 0).then_some(Position {
            line: failure.line,
            column: failure.column.max(1),
        });
        Self {
            code,
            message: failure.message,
            position,
            is_bug: failure.kind == FailureKind::Bug,
        }
    }
}

impl From<ScriptError> for Failure {
    fn from(error: ScriptError) -> Self {
        let Position { line, column } = error.position.unwrap_or(Position { line: 0, column: 0 });
        Self {
            kind: FailureKind::Raised,
            message: error.message,
            line,
            column,
        }
    }
}

impl From<EndCause> for ScriptError {
    fn from(ended: EndCause) -> Self {
        match ended {
            EndCause::Deadline => Self::new(
                Code::Timeout,
                "did not finish before its deadline and was killed",
            ),
            EndCause::Cpu => Self::new(
                Code::ScriptSteps,
                "used up its processor time and was killed",
            ),
            EndCause::Cancelled => Self::new(Code::Cancelled, "cancelled"),
            EndCause::WorkerLost(WorkerLoss::Oversized) => {
                Self::new(Code::ScriptResult, "the result is larger than it may be")
            }
            EndCause::WorkerLost(WorkerLoss::Unsendable) => Self::new(
                Code::ScriptResult,
                "a value is too large or too deep to be passed on",
            ),
            EndCause::WorkerLost(WorkerLoss::Died { cause, .. }) => match cause {
                DeathCause::Memory => {
                    Self::new(Code::ScriptMemory, "wanted more memory than it may have")
                }
                DeathCause::Stack => Self::new(
                    Code::ScriptCrashed,
                    "nested too deeply and overflowed its stack",
                ),
                DeathCause::Cpu => Self::new(Code::ScriptSteps, "used up its processor time"),
                DeathCause::Filter => Self::new(
                    Code::ScriptCrashed,
                    "tried something that workers may not do and was stopped by the system",
                ),
                _ => Self::new(Code::ScriptCrashed, "the worker died"),
            },
        }
    }
}

impl From<LeaseError> for ScriptError {
    fn from(none: LeaseError) -> Self {
        match none {
            LeaseError::NoProgram => Self::new(
                Code::ScriptNoWorker,
                "this program cannot start script workers",
            ),
            LeaseError::Failed(message) => Self::new(Code::SandboxUnavailable, message),
        }
    }
}

/// Runs a few futures concurrently.
async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures
        .into_iter()
        .map(|future| (Box::pin(future), None))
        .collect();
    std::future::poll_fn(|context| {
        let mut waiting = false;
        for (future, output) in &mut running {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *output = Some(value),
                    std::task::Poll::Pending => waiting = true,
                }
            }
        }
        if waiting {
            std::task::Poll::Pending
        } else {
            std::task::Poll::Ready(())
        }
    })
    .await;
    running
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}
