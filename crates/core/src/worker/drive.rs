//! One request to one worker, from the first frame to the last response.

use super::channel::{Worker, WorkerLoss};
use super::pool::{DEFAULT_MEMORY_MB, Lease, Pool, Purpose};
use super::protocol::{Budget, Link, Outcome, Request, Response, Verdict, begin_chain, begin_run};
use super::script::Script;
use super::{CHECK_TIME, MAX_DECISION_BYTES, ScriptError, Workers, wire};
use crate::refusal::Code;
use serde_json::{Map, Value};
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long after its deadline a worker may still answer before it is killed.
const GRACE: Duration = Duration::from_millis(20);

/// How often the harness checks the clocks while it waits. All waits begin with this span: a timer
/// that is due before all others would make the runtime interrupt its own waiting for every
/// request.
const POLL: Duration = Duration::from_millis(100);

/// The limits of a request, as the harness enforces them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestLimits {
    /// When it must be over.
    pub(crate) deadline: Instant,
    /// Processor time.
    pub(crate) cpu: Duration,
    /// Bytes of a frame.
    pub(crate) frame_bytes: u64,
}

/// Why a request ended without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndCause {
    /// The deadline passed.
    Deadline,
    /// The processor time is used up.
    Cpu,
    /// The caller cancelled.
    Cancelled,
    /// The worker is gone.
    WorkerLost(WorkerLoss),
}

/// Answers a script's calls of built-ins.
pub(crate) trait Crossing: Sync {
    /// Runs a built-in; an error is raised in the script.
    fn cross(
        &self,
        link: u32,
        builtin: u32,
        args: Vec<Value>,
    ) -> impl Future<Output = Result<Value, String>> + Send;
    /// Records a built-in that the script does not wait for.
    fn note(&self, link: u32, builtin: u32, args: Vec<Value>) -> impl Future<Output = ()> + Send;
}

/// A request that ended without a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AbortedRequest {
    /// Why.
    pub(crate) why: EndCause,
    /// The part of the request that was running, if known.
    pub(crate) part: Option<usize>,
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
    /// A worker, if one is free in time.
    pub(super) async fn lease(
        &self,
        purpose: Purpose,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<Lease, ScriptError> {
        tokio::select! {
            biased;
            lease = self.pool.lease(purpose) => lease.map_err(ScriptError::from),
            () = cancel.cancelled() => Err(ScriptError::new(Code::Cancelled, "cancelled while waiting for a worker")),
            () = sleep_until(deadline) => Err(ScriptError::new(Code::Timeout, "no worker was free before the deadline")),
        }
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

    /// Runs hooks, at most `MAX_LINKS`, in one worker until one decides something other than
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
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Sends `frames` and serves the worker until its response. After an error the lease must be
/// dropped, which kills the worker.
pub(crate) async fn drive(
    pool: &Pool,
    lease: &mut Lease,
    frames: &[u8],
    bounds: RequestLimits,
    cancel: &CancellationToken,
    crossing: &impl Crossing,
) -> Result<Response, AbortedRequest> {
    match converse(pool, lease, frames, bounds, cancel, crossing).await {
        Ok(response) => Ok(response),
        Err(why @ (EndCause::Deadline | EndCause::Cpu)) => Err(AbortedRequest {
            why,
            part: lease.worker.stop().await,
        }),
        Err(why @ EndCause::WorkerLost(WorkerLoss::Died { part, .. })) => {
            Err(AbortedRequest { why, part })
        }
        Err(why) => Err(AbortedRequest { why, part: None }),
    }
}

async fn converse(
    pool: &Pool,
    lease: &mut Lease,
    frames: &[u8],
    bounds: RequestLimits,
    cancel: &CancellationToken,
    crossing: &impl Crossing,
) -> Result<Response, EndCause> {
    let hard = bounds.deadline + GRACE;
    let started = lease.worker.cpu_time();
    bounded(hard, cancel, say(pool, &mut lease.worker, frames))
        .await?
        .map_err(EndCause::WorkerLost)?;
    loop {
        let response = next_word(&mut lease.worker, hard, bounds, started, cancel).await?;
        match response {
            Response::Cross {
                builtin,
                link,
                args,
            } => {
                let answer = pool.serve(lease, crossing.cross(link, builtin, args));
                let answer = bounded(hard, cancel, answer).await?;
                let mut reply = Vec::new();
                let encoded = Request::Answer(answer)
                    .encode()
                    .or_else(|error| Request::Answer(Err(error.to_string())).encode());
                encoded
                    .and_then(|frame| lease.worker.push(&frame, &mut reply))
                    .map_err(|_| EndCause::WorkerLost(WorkerLoss::Unsendable))?;
                bounded(hard, cancel, say(pool, &mut lease.worker, &reply))
                    .await?
                    .map_err(EndCause::WorkerLost)?;
            }
            Response::Note {
                builtin,
                link,
                args,
            } => bounded(hard, cancel, crossing.note(link, builtin, args)).await?,
            last => return Ok(last),
        }
    }
}

async fn say(pool: &Pool, worker: &mut Worker, frames: &[u8]) -> Result<(), WorkerLoss> {
    if pool.is_quiet() {
        worker.send_alone(frames).await
    } else {
        worker.send_among_others(frames).await
    }
}

/// The next frame of the worker, within the deadline and the processor time.
async fn next_word(
    worker: &mut Worker,
    hard: Instant,
    bounds: RequestLimits,
    started: Duration,
    cancel: &CancellationToken,
) -> Result<Response, EndCause> {
    // A worker that always has another frame ready must not keep the clock from being checked.
    if Instant::now() >= hard {
        return Err(EndCause::Deadline);
    }
    if cancel.is_cancelled() {
        return Err(EndCause::Cancelled);
    }
    loop {
        tokio::select! {
            biased;
            word = worker.receive(bounds.frame_bytes) => return word.map_err(EndCause::WorkerLost),
            () = cancel.cancelled() => return Err(EndCause::Cancelled),
            () = sleep_until(hard.min(Instant::now() + POLL)) => {
                if Instant::now() >= hard {
                    return Err(EndCause::Deadline);
                }
                if worker.cpu_time().saturating_sub(started) >= bounds.cpu + GRACE {
                    return Err(EndCause::Cpu);
                }
            }
        }
    }
}

async fn bounded<T>(
    hard: Instant,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, EndCause> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = cancel.cancelled() => Err(EndCause::Cancelled),
        () = sleep_until(hard) => Err(EndCause::Deadline),
    }
}
