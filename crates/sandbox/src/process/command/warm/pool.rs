//! Places made ahead: the namespaces and mounts of the next command, waiting for it.
//!
//! A place serves one command and is never used twice. It is taken only by a command whose own place would be made in exactly the same way
//! now: the same block, of the same files, under the same mounts. Anything else is thrown away, and the command gets a fresh one.

use super::stamp::FileStamp;
use crate::plan::Plan;
use crate::process::command::helper::block::EncodedBlock;
use crate::process::command::helper::start::Helper;
use crate::process::command::leftovers::scratch::Scratch;
use crate::process::command::limits::cgroup::Group;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Places at once, for all plans together.
const MOST: usize = 4;
/// How long a place waits for its command.
pub(crate) const LIFETIME: Duration = Duration::from_secs(20);

/// What makes two containers alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerKey {
    pub(crate) namespaces: EncodedBlock,
    pub(crate) block: EncodedBlock,
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u64,
    /// What was written into its folder for temporary files.
    pub(crate) profile: Option<String>,
}

/// A place that is container.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) helper: Helper,
    pub(crate) group: Group,
    /// Its folder for temporary files, where it has none in memory.
    pub(crate) scratch: Option<Scratch>,
    /// What is weaker in it than it should be.
    pub(crate) weaker: Vec<String>,
}

/// The containers that wait.
pub(crate) struct ContainerPool {
    state: Mutex<PoolState>,
    /// How many are being made.
    coming: Arc<AtomicUsize>,
    /// Tells when a mount was made or removed: a place made before does not know.
    mounts: Option<File>,
}

#[derive(Default)]
struct PoolState {
    containers: Vec<PooledContainer>,
    /// How often all of them were thrown away.
    generation: u64,
}

struct PooledContainer {
    plan: Plan,
    key: ContainerKey,
    stamps: Vec<Option<FileStamp>>,
    since: Instant,
    /// `None` once it was taken.
    container: Option<Container>,
}

impl Drop for PooledContainer {
    fn drop(&mut self) {
        // Waited for, because a group can be removed only when nobody is in it.
        if let Some(Container {
            mut helper, group, ..
        }) = self.container.take()
        {
            helper.stop_and_wait();
            drop(group);
        }
    }
}

/// PoolPermit to make a place.
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

    /// Whether a place waits that was made for this plan. It may have become another since.
    pub(crate) fn has_for_plan(&self, plan: &Plan) -> bool {
        self.state()
            .containers
            .iter()
            .any(|idle| idle.plan == *plan)
    }

    /// Takes a place like this, if there is one. One that is made of other files by now is thrown away.
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
            // Somebody may have ended it while it waited.
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

    /// Whether one more may be made.
    pub(crate) fn permit(&self) -> Option<PoolPermit> {
        // Where nobody can say whether mounts changed, nothing is made ahead.
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

    /// Brings a place; the oldest goes when there are too many.
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
        let surplus = if state.containers.len() > MOST {
            Some(state.containers.remove(0))
        } else {
            None
        };
        drop(state);
        drop(surplus);
    }

    /// Throws away what nobody came for.
    pub(crate) fn drop_expired(&self) {
        let mut state = self.state();
        let (kept, old): (Vec<_>, Vec<_>) = std::mem::take(&mut state.containers)
            .into_iter()
            .partition(|idle| idle.since.elapsed() < LIFETIME);
        state.containers = kept;
        drop(state);
        drop(old);
    }

    /// What waits, if the mounts are still what they were.
    fn state(&self) -> MutexGuard<'_, PoolState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.mounts.as_ref().is_some_and(mounts_changed) {
            state.containers.clear();
            state.generation += 1;
        }
        state
    }
}

/// Whether mounts were made or removed since this was last asked.
fn mounts_changed(mounts: &File) -> bool {
    let mut asked = [PollFd::new(mounts, PollFlags::PRI | PollFlags::ERR)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // Who cannot be asked may have changed.
    poll(&mut asked, Some(&at_once)).is_err()
        || asked[0]
            .revents()
            .intersects(PollFlags::PRI | PollFlags::ERR)
}
