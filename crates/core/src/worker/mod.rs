//! Script workers: a pool of confined processes, and the requests they answer.

pub mod protocol;
pub mod script;
pub mod spelling;
pub mod wire;

mod channel;
mod drive;
mod pool;

pub(crate) use drive::{Crossing, RequestLimits};
pub(crate) use pool::DEFAULT_MEMORY_MB;

use crate::facts::FactsBySource;
use crate::facts::{Facts, ScriptKind, Unread};
use crate::refusal::Code;
use crate::span::Position;
use channel::{Worker, WorkerLoss};
use drive::{EndCause, drive};
use pool::{Lease, LeaseError, Pool, Purpose};
use protocol::{
    Budget, Failure, FailureKind, Link, Outcome, Request, Response, Verdict, begin_chain, begin_run,
};
use script::{Script, Scripts};
use serde_json::{Map, Value};
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
}

/// A chain without verdicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChainFailure {
    /// The hook that was running, by its position in the chain, if known.
    pub(crate) link: Option<usize>,
    /// What happened to it.
    pub(crate) error: ScriptError,
}

/// A hook of a chain, as workers need it.
pub(crate) struct ChainLink<'a> {
    pub(crate) when: Option<&'a Script>,
    pub(crate) script: &'a Script,
    pub(crate) timeout: Duration,
}

/// The limits of one tool run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolLimits {
    pub(crate) deadline: Instant,
    pub(crate) cpu_ms: u64,
    pub(crate) memory_mb: u64,
    pub(crate) result_bytes: u64,
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

    /// Runs the script of a tool in a worker of its session.
    pub(crate) async fn run_tool(
        &self,
        session_id: &str,
        script: &Script,
        args: &Map<String, Value>,
        bounds: ToolLimits,
        cancel: &CancellationToken,
        crossing: &impl Crossing,
    ) -> Result<Outcome, ScriptError> {
        let purpose = Purpose::Tool {
            session_id: session_id.to_owned(),
            memory_mb: bounds.memory_mb,
        };
        let mut lease = self.lease(purpose, bounds.deadline, cancel).await?;
        let budget = Budget {
            wall_ms: milliseconds(bounds.deadline.saturating_duration_since(Instant::now())).max(1),
            cpu_ms: bounds.cpu_ms,
            memory_bytes: bounds.memory_mb << 20,
            result_bytes: bounds.result_bytes,
        };
        let mut frames = Vec::with_capacity(4 << 10);
        let mut run = wire::Writer::roomy();
        begin_run(&mut run, script.number, &budget);
        lease
            .worker
            .load(script, &mut frames)
            .and_then(|()| run.object(args))
            .and_then(|()| lease.worker.push(&run.bytes, &mut frames))
            .map_err(|error| {
                ScriptError::new(
                    Code::ArgsMalformed,
                    format!("the arguments cannot be passed on: {error}"),
                )
            })?;
        let enforced = RequestLimits {
            deadline: bounds.deadline,
            cpu: Duration::from_millis(bounds.cpu_ms),
            frame_bytes: bounds.result_bytes,
        };
        match drive(&self.pool, &mut lease, &frames, enforced, cancel, crossing).await {
            Ok(Response::Done(outcome)) => {
                self.pool.give_back(lease);
                Ok(outcome)
            }
            Ok(Response::Failed(failure)) => {
                self.pool.give_back(lease);
                Err(failure.into())
            }
            Ok(_) => Err(ScriptError::new(
                Code::ScriptCrashed,
                "the worker answered out of turn",
            )),
            Err(cut) => Err(cut.why.into()),
        }
    }

    /// Runs hooks, at most [`MAX_LINKS`], in one worker until one decides something other than
    /// allow.
    pub(crate) async fn run_chain(
        &self,
        event: &str,
        payload: &Map<String, Value>,
        links: &[ChainLink<'_>],
        cancel: &CancellationToken,
        crossing: &impl Crossing,
    ) -> Result<Vec<Verdict>, ChainFailure> {
        let lost = |link: Option<usize>, error: ScriptError| ChainFailure { link, error };
        let time: Duration = links.iter().map(|link| link.timeout).sum();
        let deadline = Instant::now() + time;
        let mut lease = self
            .lease(Purpose::Policy, deadline + CHECK_TIME, cancel)
            .await
            .map_err(|error| lost(Some(0), error))?;
        let deadline = Instant::now() + time;
        let cpu = time.max(Duration::from_millis(100));
        let memory_bytes = DEFAULT_MEMORY_MB << 20;
        let budget = Budget {
            wall_ms: milliseconds(time),
            cpu_ms: milliseconds(cpu),
            memory_bytes,
            result_bytes: MAX_DECISION_BYTES,
        };
        let mut frames = Vec::with_capacity(4 << 10);
        let mut request = Vec::with_capacity(links.len());
        let unsendable = |error: wire::WireError| {
            lost(
                Some(0),
                ScriptError::new(
                    Code::HookFailed,
                    format!("the payload cannot be passed on: {error}"),
                ),
            )
        };
        for link in links {
            for script in link.when.iter().copied().chain([link.script]) {
                lease.worker.load(script, &mut frames).map_err(unsendable)?;
            }
            request.push(Link {
                when: link.when.map(|when| when.number),
                script: link.script.number,
                timeout_ms: milliseconds(link.timeout),
            });
        }
        let mut chain = wire::Writer::roomy();
        begin_chain(&mut chain, event, &request, &budget)
            .and_then(|()| chain.object(payload))
            .and_then(|()| lease.worker.push(&chain.bytes, &mut frames))
            .map_err(unsendable)?;
        let bounds = RequestLimits {
            deadline,
            cpu,
            frame_bytes: MAX_DECISION_BYTES,
        };
        match drive(&self.pool, &mut lease, &frames, bounds, cancel, crossing).await {
            // An empty list would skip a hook, so it is a failure.
            Ok(Response::Chain(verdicts)) if (1..=links.len()).contains(&verdicts.len()) => {
                self.pool.give_back(lease);
                Ok(verdicts)
            }
            Ok(_) => Err(lost(
                None,
                ScriptError::new(Code::ScriptCrashed, "the worker answered out of turn"),
            )),
            Err(cut) => Err(lost(
                cut.part.filter(|part| *part < links.len()),
                cut.why.into(),
            )),
        }
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
        }
    }
}

impl From<Failure> for ScriptError {
    fn from(failure: Failure) -> Self {
        let code = match failure.kind {
            FailureKind::Raised => Code::Failed,
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

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
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
