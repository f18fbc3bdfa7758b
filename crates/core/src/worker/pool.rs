//! The pool of workers: who gets one, and which.
//!
//! Two limits. A *slot* is a living worker, held for a whole request. A *place* is a share of the
//! processors, given up while a script waits for a built-in. A lease that holds a place never waits
//! for a slot, so there is no deadlock. Hooks have slots and places of their own.

use super::channel::Worker;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tool_harness_sandbox::process::{WorkerLimits, WorkerProcess, WorkerProgram};

/// Living workers per place: room for scripts that wait for built-ins.
const SLOTS_PER_PLACE: usize = 4;

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
    tools: Side,
    policy: Side,
}

#[derive(Debug)]
struct Side {
    slots: Arc<Semaphore>,
    places: Arc<Semaphore>,
    idle: Mutex<VecDeque<(Purpose, Worker)>>,
    most_idle: usize,
}

impl Side {
    fn new(places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS / SLOTS_PER_PLACE);
        Self {
            slots: Arc::new(Semaphore::new(places * SLOTS_PER_PLACE)),
            places: Arc::new(Semaphore::new(places)),
            idle: Mutex::default(),
            most_idle: places * 2,
        }
    }
}

/// A worker in use. Unless it is given back, dropping it kills the worker.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The worker.
    pub(crate) worker: Worker,
    purpose: Purpose,
    place: Option<OwnedSemaphorePermit>,
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
            tools: Side::new(places),
            policy: Side::new(places),
        }
    }

    /// A worker for the purpose. Waits for its turn; the caller bounds the wait.
    pub(crate) async fn lease(&self, purpose: Purpose) -> Result<Lease, LeaseError> {
        let program = self.program.as_ref().ok_or(LeaseError::NoProgram)?;
        let side = self.side(&purpose);
        let closed = |_| LeaseError::Failed("the engine is shutting down".into());
        let slot = Arc::clone(&side.slots)
            .acquire_owned()
            .await
            .map_err(closed)?;
        let place = Arc::clone(&side.places)
            .acquire_owned()
            .await
            .map_err(closed)?;
        let mut worker = match side.take(&purpose).filter(Worker::is_silent) {
            Some(worker) => worker,
            None => match self.take_first(&purpose) {
                Some(first) => Worker::adopt(first).await.map_err(LeaseError::Failed)?,
                None => Worker::start(program, &limits(&purpose))
                    .await
                    .map_err(LeaseError::Failed)?,
            },
        };
        worker.begin();
        Ok(Lease {
            worker,
            purpose,
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
            mut worker,
            purpose,
            ..
        } = lease;
        worker.used = true;
        let side = self.side(&purpose);
        let surplus = {
            let mut idle = side.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push_back((purpose, worker));
            if idle.len() > side.most_idle {
                idle.pop_front()
            } else {
                None
            }
        };
        drop(surplus);
    }

    /// Idle workers, for tests and reports.
    pub(crate) fn idle(&self) -> usize {
        let count = |side: &Side| {
            side.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .len()
        };
        count(&self.tools) + count(&self.policy)
    }

    /// Workers in use, for tests and reports.
    pub(crate) fn busy(&self) -> usize {
        let count =
            |side: &Side| side.most_idle / 2 * SLOTS_PER_PLACE - side.slots.available_permits();
        count(&self.tools) + count(&self.policy)
    }

    /// Whether at most one worker is running.
    pub(crate) fn is_quiet(&self) -> bool {
        let taken = |side: &Side| side.most_idle / 2 - side.places.available_permits();
        taken(&self.tools) + taken(&self.policy) <= 1
    }

    fn side(&self, purpose: &Purpose) -> &Side {
        match purpose {
            Purpose::Policy | Purpose::Check => &self.policy,
            Purpose::Tool { .. } => &self.tools,
        }
    }

    /// Lets others run while this lease waits for something.
    pub(crate) fn give_up_place(lease: &mut Lease) {
        lease.place = None;
    }

    /// Takes a place again. It is never refused, and waits behind at most as many leases as there
    /// are slots.
    pub(crate) async fn take_place(&self, lease: &mut Lease) {
        if lease.place.is_none() {
            lease.place = Arc::clone(&self.side(&lease.purpose).places)
                .acquire_owned()
                .await
                .ok();
        }
    }
}

impl Side {
    fn take(&self, purpose: &Purpose) -> Option<Worker> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let index = idle.iter().rposition(|(known, _)| known == purpose)?;
        idle.remove(index).map(|(_, worker)| worker)
    }
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
