//! A pool of containers made ahead, each waiting for the next command of its plan.
//!
//! A container serves one command and is never used twice. A command takes it only if its own
//! container would be made in exactly the same way now: the same block, of the same files, under
//! the same mounts. Otherwise it is thrown away, and the command gets a fresh one.

use super::stamp::FileStamp;
use crate::lock::lock;
use crate::plan::Plan;
use crate::process::command::helper::block::EncodedBlock;
use crate::process::command::helper::start::Helper;
use crate::process::command::leftovers::scratch::Scratch;
use crate::process::command::limits::cgroup::Group;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Containers at once, for all plans together.
const MOST: usize = 4;
/// How long a container waits for its command.
pub(crate) const LIFETIME: Duration = Duration::from_secs(20);

/// What two containers must have in common to be interchangeable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerKey {
    pub(crate) namespaces: EncodedBlock,
    pub(crate) block: EncodedBlock,
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u64,
    /// The profile in its scratch folder.
    pub(crate) profile: Option<String>,
}

/// A container that is ready for its command.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) helper: Helper,
    pub(crate) group: Group,
    /// Its scratch folder, if it has no private folder in memory.
    pub(crate) scratch: Option<Scratch>,
    /// What it could not enforce.
    pub(crate) weaker: Vec<String>,
}

/// The containers that wait.
pub(crate) struct ContainerPool {
    state: Mutex<PoolState>,
    /// How many are being made.
    coming: Arc<AtomicUsize>,
    /// Signals when mounts change: containers made before are out of date.
    mounts: Option<File>,
}

#[derive(Default)]
struct PoolState {
    containers: Vec<PooledContainer>,
    /// How often the pool was emptied.
    generation: u64,
}

struct PooledContainer {
    plan: Plan,
    key: ContainerKey,
    stamps: Vec<Option<FileStamp>>,
    since: Instant,
    /// `None` once taken.
    container: Option<Container>,
}

impl Drop for PooledContainer {
    fn drop(&mut self) {
        // Waits, because a cgroup can be removed only when it is empty.
        if let Some(Container {
            mut helper, group, ..
        }) = self.container.take()
        {
            helper.stop_and_wait();
            drop(group);
        }
    }
}

/// Permission to make a container.
pub(crate) struct PoolPermit {
    coming: Arc<AtomicUsize>,
    generation: u64,
}

impl Drop for PoolPermit {
    fn drop(&mut self) {
        self.coming.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ContainerPool {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            coming: Arc::default(),
            mounts: File::open("/proc/self/mountinfo").ok(),
        }
    }

    /// Whether a container waits that was made for this plan. It may be out of date.
    pub(crate) fn has_for_plan(&self, plan: &Plan) -> bool {
        self.state()
            .containers
            .iter()
            .any(|idle| idle.plan == *plan)
    }

    /// Takes a container with this key, if there is one. Throws it away if its files have changed.
    pub(crate) fn take(
        &self,
        key: &ContainerKey,
        stamps: impl Fn() -> Vec<Option<FileStamp>>,
    ) -> Option<Container> {
        loop {
            let mut state = self.state();
            let at = state.containers.iter().position(|idle| idle.key == *key)?;
            let mut idle = state.containers.swap_remove(at);
            drop(state);
            // It may have been killed while it waited.
            if idle.stamps == stamps()
                && idle
                    .container
                    .as_mut()
                    .is_some_and(|container| !container.helper.reap())
            {
                return idle.container.take();
            }
        }
    }

    /// Permission to make one more, if there is room.
    pub(crate) fn permit(&self) -> Option<PoolPermit> {
        // If changes of mounts cannot be detected, nothing is made ahead.
        self.mounts.as_ref()?;
        let permit = PoolPermit {
            coming: self.coming.clone(),
            generation: self.state().generation,
        };
        (permit.coming.fetch_add(1, Ordering::Relaxed) < MOST).then_some(permit)
    }

    pub(crate) fn has(&self, key: &ContainerKey) -> bool {
        self.state().containers.iter().any(|idle| idle.key == *key)
    }

    /// Adds a container; the oldest goes if there are too many.
    pub(crate) fn put(
        &self,
        permit: &PoolPermit,
        plan: Plan,
        key: ContainerKey,
        stamps: Vec<Option<FileStamp>>,
        container: Container,
    ) {
        let idle = PooledContainer {
            plan,
            key,
            stamps,
            since: Instant::now(),
            container: Some(container),
        };
        let mut state = self.state();
        if state.generation != permit.generation {
            return;
        }
        state.containers.push(idle);
        let surplus = (state.containers.len() > MOST).then(|| state.containers.remove(0));
        drop(state);
        drop(surplus);
    }

    /// Throws away containers that waited too long.
    pub(crate) fn drop_expired(&self) {
        let mut state = self.state();
        let (kept, old): (Vec<_>, Vec<_>) = std::mem::take(&mut state.containers)
            .into_iter()
            .partition(|idle| idle.since.elapsed() < LIFETIME);
        state.containers = kept;
        drop(state);
        drop(old);
    }

    /// The pool, emptied if the mounts have changed.
    fn state(&self) -> MutexGuard<'_, PoolState> {
        let mut state = lock(&self.state);
        if self.mounts.as_ref().is_some_and(mounts_changed) {
            state.containers.clear();
            state.generation += 1;
        }
        state
    }
}

/// Whether mounts have changed since the last call.
fn mounts_changed(mounts: &File) -> bool {
    let mut asked = [PollFd::new(mounts, PollFlags::PRI | PollFlags::ERR)];
    let at_once = Timespec::default();
    // If polling fails, they may have changed.
    poll(&mut asked, Some(&at_once)).is_err()
        || asked[0]
            .revents()
            .intersects(PollFlags::PRI | PollFlags::ERR)
}
