//! The pool of workers: who gets one, and which.
//!
//! Three limits. A *slot* is a request under way, held until its last frame. A *place* is a share of
//! the processors, given up while a script waits for a built-in. A *life* is a worker, busy or idle.
//! There are more lives than slots, so a request that has a slot finds a free life, or an idle worker
//! to end. A lease that holds a place never waits for a slot, so there is no deadlock. Hooks have
//! slots, places and lives of their own.
//!
//! Starting a worker takes as long as dozens of calls, so a worker is ended only when its life is
//! needed for another purpose, or when it has long been idle.

use super::channel::Worker;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep_until};
use tool_harness_sandbox::process::{WorkerLimits, WorkerProcess, WorkerProgram};

/// Requests under way per place: room for scripts that wait for built-ins.
const SLOTS_PER_PLACE: usize = 4;

/// Living workers per place: some more, since not every request can use every worker.
const LIVES_PER_PLACE: usize = 6;

/// Idle workers per place that are kept until their life is needed.
const SPARE_PER_PLACE: usize = 2;

/// How long the other idle workers are kept: while others work, and when nothing happens.
const BUSY_TIME: Duration = Duration::from_secs(60);
const QUIET_TIME: Duration = Duration::from_secs(10);

/// What a worker is for. One that ran the script of a tool never serves a hook or another session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Hooks, and checks of their scripts.
    Policy,
    /// Checks of tool scripts. Parsing a script exposes the worker to it, so this worker runs no
    /// hook either.
    Check,
    /// Tools of one session, under one memory limit.
    Tool {
        /// The session.
        session_id: String,
        /// The limit.
        memory_mb: u64,
    },
}

/// Memory of a worker, unless a tool or the project says otherwise.
pub(crate) const DEFAULT_MEMORY_MB: u64 = 256;

/// All workers of one engine.
#[derive(Debug)]
pub(crate) struct Pool {
    program: Option<WorkerProgram>,
    /// A worker that was started before the pool. Hooks get it.
    first: Mutex<Option<WorkerProcess>>,
    tools: Arc<Side>,
    policy: Arc<Side>,
}

#[derive(Debug)]
struct Side {
    /// How many places there are, free or not.
    size: usize,
    slots: Arc<Semaphore>,
    places: Arc<Semaphore>,
    /// Held by the requests that are next to get their first place, half as many as places.
    door: Arc<Semaphore>,
    lives: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

/// The idle workers of one side.
#[derive(Debug, Default)]
struct Idle {
    /// The one that has been idle longest comes first.
    workers: VecDeque<IdleWorker>,
    /// The task that ends the surplus, if there is any.
    sweeper: Option<AbortHandle>,
}

#[derive(Debug)]
struct IdleWorker {
    purpose: Purpose,
    worker: Worker,
    life: OwnedSemaphorePermit,
    since: Instant,
}

/// A worker in use. Unless it is given back, dropping it kills the worker.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The worker.
    pub(crate) worker: Worker,
    purpose: Purpose,
    life: OwnedSemaphorePermit,
    place: Option<OwnedSemaphorePermit>,
    // Dropped after the life: whoever gets the slot must find one.
    _slot: OwnedSemaphorePermit,
}

/// Why there is no worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LeaseError {
    /// This program cannot be a worker.
    NoProgram,
    /// It could not be started.
    Failed(String),
}

impl Pool {
    pub(crate) fn new(
        program: Option<WorkerProgram>,
        first: Option<WorkerProcess>,
        places: usize,
    ) -> Self {
        let places = places.max(1);
        Self {
            program,
            first: Mutex::new(first),
            tools: Arc::new(Side::new(places)),
            policy: Arc::new(Side::new(places)),
        }
    }

    /// A worker for the purpose. Requests are served in the order in which they came; the caller
    /// bounds the wait.
    pub(crate) async fn lease(&self, purpose: Purpose) -> Result<Lease, LeaseError> {
        let program = self.program.as_ref().ok_or(LeaseError::NoProgram)?;
        let side = self.side(&purpose);
        let slot = acquire(&side.slots).await?;
        let place = side.first_place().await?;
        let (mut worker, life) = match side.take(&purpose) {
            Some(idle) => idle,
            None => {
                let life = match side.free_life() {
                    Some(life) => life,
                    // Not reached: each of the other slots has at most one of the lives.
                    None => acquire(&side.lives).await?,
                };
                let started = match self.take_first(&purpose) {
                    Some(first) => Worker::adopt(first).await,
                    None => Worker::start(program, &limits(&purpose)).await,
                };
                (started.map_err(LeaseError::Failed)?, life)
            }
        };
        worker.begin();
        Ok(Lease {
            worker,
            purpose,
            life,
            place: Some(place),
            _slot: slot,
        })
    }

    fn take_first(&self, purpose: &Purpose) -> Option<WorkerProcess> {
        if *purpose == Purpose::Policy {
            self.first
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()
        } else {
            None
        }
    }

    /// Returns a worker that finished its last request.
    pub(crate) fn give_back(&self, lease: Lease) {
        let Lease {
            worker,
            purpose,
            life,
            place: _place,
            _slot,
        } = lease;
        let side = self.side(&purpose);
        let mut idle = side.idle();
        idle.workers.push_back(IdleWorker {
            purpose,
            worker,
            life,
            since: Instant::now(),
        });
        if idle.workers.len() > side.spare()
            && idle.sweeper.as_ref().is_none_or(AbortHandle::is_finished)
            && let Ok(runtime) = Handle::try_current()
        {
            let sweeping = runtime.spawn(sweep(Arc::downgrade(side)));
            idle.sweeper = Some(sweeping.abort_handle());
        }
    }

    /// Idle workers, for tests and reports.
    pub(crate) fn idle(&self) -> usize {
        let count = |side: &Side| side.idle().workers.len();
        count(&self.tools) + count(&self.policy)
    }

    /// Workers in use, for tests and reports.
    pub(crate) fn busy(&self) -> usize {
        let count = |side: &Side| side.size * SLOTS_PER_PLACE - side.slots.available_permits();
        count(&self.tools) + count(&self.policy)
    }

    /// Whether at most one worker is running.
    pub(crate) fn is_quiet(&self) -> bool {
        let taken = |side: &Side| side.size - side.places.available_permits();
        taken(&self.tools) + taken(&self.policy) <= 1
    }

    fn side(&self, purpose: &Purpose) -> &Arc<Side> {
        match purpose {
            Purpose::Policy | Purpose::Check => &self.policy,
            Purpose::Tool { .. } => &self.tools,
        }
    }

    /// Does `work` for the script of this lease. If that takes a wait, others may have the place
    /// until it is over. The place is never refused afterwards, and comes after at most as many
    /// leases as there are slots.
    pub(crate) async fn serve<T>(&self, lease: &mut Lease, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        // Most built-ins answer at once. To let another worker run meanwhile would wake two for
        // nothing, and need more workers than places.
        if let Poll::Ready(done) = poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await
        {
            return done;
        }
        lease.place = None;
        let done = work.await;
        lease.place = acquire(&self.side(&lease.purpose).places).await.ok();
        done
    }
}

impl Side {
    fn new(places: usize) -> Self {
        let size = places.min(Semaphore::MAX_PERMITS / LIVES_PER_PLACE);
        Self {
            size,
            slots: Arc::new(Semaphore::new(size * SLOTS_PER_PLACE)),
            places: Arc::new(Semaphore::new(size)),
            door: Arc::new(Semaphore::new((size / 2).max(1))),
            lives: Arc::new(Semaphore::new(size * LIVES_PER_PLACE)),
            idle: Mutex::default(),
        }
    }

    /// A place for a request that has had none yet. Only a few such requests wait together with the
    /// scripts whose built-ins have answered: if all did, scripts would begin before others end, each
    /// in a worker of its own.
    async fn first_place(&self) -> Result<OwnedSemaphorePermit, LeaseError> {
        let _door = acquire(&self.door).await?;
        acquire(&self.places).await
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many idle workers are not surplus.
    fn spare(&self) -> usize {
        self.size * SPARE_PER_PLACE
    }

    /// An idle worker of the purpose, the one that ran last: the others may become surplus.
    fn take(&self, purpose: &Purpose) -> Option<(Worker, OwnedSemaphorePermit)> {
        loop {
            let found = {
                let workers = &mut self.idle().workers;
                let index = workers.iter().rposition(|idle| idle.purpose == *purpose)?;
                workers.remove(index)?
            };
            if found.worker.is_silent() {
                return Some((found.worker, found.life));
            }
        }
    }

    /// A life for a new worker. If none is free, the worker that has been idle longest is ended.
    fn free_life(&self) -> Option<OwnedSemaphorePermit> {
        // Looked at together: a worker that is given back in between would be overlooked.
        let mut idle = self.idle();
        if let Ok(life) = Arc::clone(&self.lives).try_acquire_owned() {
            return Some(life);
        }
        let oldest = idle.workers.pop_front()?;
        drop(idle);
        drop(oldest.worker);
        Some(oldest.life)
    }

    /// Ends workers that have been surplus for too long. Says when to look again, if ever.
    fn end_surplus(&self) -> Option<Instant> {
        let mut ended = Vec::new();
        let mut idle = self.idle();
        let next = loop {
            if idle.workers.len() <= self.spare() {
                idle.sweeper = None;
                break None;
            }
            let (oldest, latest) = (idle.workers.front()?, idle.workers.back()?);
            let due = (oldest.since + BUSY_TIME).min(latest.since + QUIET_TIME);
            if due > Instant::now() {
                break Some(due);
            }
            ended.extend(idle.workers.pop_front());
        };
        drop(idle);
        drop(ended);
        next
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        if let Some(sweeper) = &self.idle().sweeper {
            sweeper.abort();
        }
    }
}

/// Ends surplus workers until there are none.
async fn sweep(side: Weak<Side>) {
    let mut next = Instant::now() + QUIET_TIME;
    loop {
        sleep_until(next).await;
        match side.upgrade().and_then(|side| side.end_surplus()) {
            Some(due) => next = due,
            None => return,
        }
    }
}

async fn acquire(semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, LeaseError> {
    Arc::clone(semaphore)
        .acquire_owned()
        .await
        .map_err(|_| LeaseError::Failed("the engine is shutting down".into()))
}

fn limits(purpose: &Purpose) -> WorkerLimits {
    let memory_mb = match purpose {
        Purpose::Policy | Purpose::Check => DEFAULT_MEMORY_MB,
        Purpose::Tool { memory_mb, .. } => *memory_mb,
    };
    WorkerLimits {
        memory_bytes: memory_mb << 20,
        ..WorkerLimits::default()
    }
}
