//! One request to one worker, from sending it to its last word.

use super::channel::{Lost, Worker};
use super::pool::{Lease, Pool};
use super::protocol::{Request, Response};
use serde_json::Value;
use std::future::Future;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long after its deadline a worker may still answer for itself before it is killed.
const GRACE: Duration = Duration::from_millis(20);

/// How often the harness looks at the clocks while it waits. All waits start with this same span: a timer that is due before all others
/// would make the runtime stop its own waiting to take note of it, for every request.
const LOOK: Duration = Duration::from_millis(100);

/// What a request may use, as the harness enforces it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// When it must be over.
    pub(crate) deadline: Instant,
    /// Processor time.
    pub(crate) cpu: Duration,
    /// Bytes of a frame.
    pub(crate) frame_bytes: u64,
}

/// Why a request ended without its last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The deadline passed.
    Deadline,
    /// The processor time is used up.
    Cpu,
    /// The caller cancelled.
    Cancelled,
    /// The worker is gone.
    Lost(Lost),
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
    /// Takes note of a built-in nobody waits for.
    fn note(&self, link: u32, builtin: u32, args: Vec<Value>) -> impl Future<Output = ()> + Send;
}

/// A request that ended without its last word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// Why.
    pub(crate) why: Ended,
    /// The part of the request that was running, when it is known.
    pub(crate) part: Option<usize>,
}

/// Sends `frames` and serves the worker until it has its last word. After an error the lease must be dropped, which kills the worker.
pub(crate) async fn drive(
    pool: &Pool,
    lease: &mut Lease,
    frames: &[u8],
    bounds: Bounds,
    cancel: &CancellationToken,
    crossing: &impl Crossing,
) -> Result<Response, Cut> {
    match converse(pool, lease, frames, bounds, cancel, crossing).await {
        Ok(response) => Ok(response),
        Err(why @ (Ended::Deadline | Ended::Cpu)) => Err(Cut {
            why,
            part: lease.worker.stop().await,
        }),
        Err(why @ Ended::Lost(Lost::Died { part, .. })) => Err(Cut { why, part }),
        Err(why) => Err(Cut { why, part: None }),
    }
}

async fn converse(
    pool: &Pool,
    lease: &mut Lease,
    frames: &[u8],
    bounds: Bounds,
    cancel: &CancellationToken,
    crossing: &impl Crossing,
) -> Result<Response, Ended> {
    let hard = bounds.deadline + GRACE;
    let started = lease.worker.cpu_time();
    bounded(hard, cancel, say(pool, &mut lease.worker, frames))
        .await?
        .map_err(Ended::Lost)?;
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
                    .map_err(|_| Ended::Lost(Lost::Unsendable))?;
                bounded(hard, cancel, say(pool, &mut lease.worker, &reply))
                    .await?
                    .map_err(Ended::Lost)?;
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

async fn say(pool: &Pool, worker: &mut Worker, frames: &[u8]) -> Result<(), Lost> {
    if pool.is_quiet() {
        worker.send_near(frames).await
    } else {
        worker.send_free(frames).await
    }
}

/// The worker's next frame, with an eye on the clock and on the processor time it uses.
async fn next_word(
    worker: &mut Worker,
    hard: Instant,
    bounds: Bounds,
    started: Duration,
    cancel: &CancellationToken,
) -> Result<Response, Ended> {
    // A worker that always has one more word ready would otherwise keep the clock from being looked at.
    if Instant::now() >= hard {
        return Err(Ended::Deadline);
    }
    if cancel.is_cancelled() {
        return Err(Ended::Cancelled);
    }
    loop {
        tokio::select! {
            biased;
            word = worker.receive(bounds.frame_bytes) => return word.map_err(Ended::Lost),
            () = cancel.cancelled() => return Err(Ended::Cancelled),
            () = sleep_until(hard.min(Instant::now() + LOOK)) => {
                if Instant::now() >= hard {
                    return Err(Ended::Deadline);
                }
                if worker.cpu_time().saturating_sub(started) >= bounds.cpu + GRACE {
                    return Err(Ended::Cpu);
                }
            }
        }
    }
}

async fn bounded<T>(
    hard: Instant,
    cancel: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, Ended> {
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = cancel.cancelled() => Err(Ended::Cancelled),
        () = sleep_until(hard) => Err(Ended::Deadline),
    }
}
