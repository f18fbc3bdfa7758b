//! One request to one worker, from the first frame to the last response.

use super::channel::{Worker, WorkerLoss};
use super::pool::{Lease, Pool};
use super::protocol::{Request, Response};
use serde_json::Value;
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
                Pool::give_up_place(lease);
                let answer = bounded(hard, cancel, crossing.cross(link, builtin, args)).await?;
                bounded(hard, cancel, pool.take_place(lease)).await?;
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
        worker.send_near(frames).await
    } else {
        worker.send_free(frames).await
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
