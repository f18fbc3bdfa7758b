//! Places made ahead: the namespaces and mounts of the next command, waiting for it.
//!
//! A place serves one command and is never used twice. It is taken only by a command whose own place would be made in exactly the same way
//! now: the same block, of the same files, under the same mounts. Anything else is thrown away, and the command gets a fresh one.

use super::stamp::Stamp;
use crate::plan::Plan;
use crate::process::command::helper::block::Filled;
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
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// What makes two places alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Likeness {
    pub(crate) ground: Filled,
    pub(crate) block: Filled,
    pub(crate) memory_bytes: u64,
    pub(crate) processes: u64,
    /// What was written into its folder for temporary files.
    pub(crate) profile: Option<String>,
}

/// A place that is ready.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) helper: Helper,
    pub(crate) group: Group,
    /// Its folder for temporary files, where it has none in memory.
    pub(crate) scratch: Option<Scratch>,
    /// What is weaker in it than it should be.
    pub(crate) weaker: Vec<String>,
}

/// The places that wait.
pub(crate) struct Waiting {
    state: Mutex<State>,
    /// How many are being made.
    coming: Arc<AtomicUsize>,
    /// Tells when a mount was made or removed: a place made before does not know.
    mounts: Option<File>,
}

#[derive(Default)]
struct State {
    places: Vec<Idle>,
    /// How often all of them were thrown away.
    generation: u64,
}

struct Idle {
    plan: Plan,
    likeness: Likeness,
    stamps: Vec<Option<Stamp>>,
    since: Instant,
    /// `None` once it was taken.
    ready: Option<Ready>,
}

impl Drop for Idle {
    fn drop(&mut self) {
        // Waited for, because a group can be removed only when nobody is in it.
        if let Some(Ready {
            mut helper, group, ..
        }) = self.ready.take()
        {
            helper.end_and_wait();
            drop(group);
        }
    }
}

/// Leave to make a place.
pub(crate) struct Leave {
    coming: Arc<AtomicUsize>,
    generation: u64,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.coming.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Waiting {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            coming: Arc::default(),
            mounts: File::open("/proc/self/mountinfo").ok(),
        }
    }

    /// Whether a place waits that was made for this plan. It may have become another since.
    pub(crate) fn expects(&self, plan: &Plan) -> bool {
        self.state().places.iter().any(|idle| idle.plan == *plan)
    }

    /// Takes a place like this, if there is one. One that is made of other files by now is thrown away.
    pub(crate) fn take(
        &self,
        likeness: &Likeness,
        stamps: impl Fn() -> Vec<Option<Stamp>>,
    ) -> Option<Ready> {
        loop {
            let mut state = self.state();
            let at = state
                .places
                .iter()
                .position(|idle| idle.likeness == *likeness)?;
            let mut idle = state.places.swap_remove(at);
            drop(state);
            // Somebody may have ended it while it waited.
            if idle.stamps == stamps()
                && idle
                    .ready
                    .as_mut()
                    .is_some_and(|ready| !ready.helper.reap())
            {
                return idle.ready.take();
            }
        }
    }

    /// Whether one more may be made.
    pub(crate) fn leave(&self) -> Option<Leave> {
        // Where nobody can say whether mounts changed, nothing is made ahead.
        self.mounts.as_ref()?;
        let leave = Leave {
            coming: self.coming.clone(),
            generation: self.state().generation,
        };
        (leave.coming.fetch_add(1, Ordering::Relaxed) < MOST).then_some(leave)
    }

    pub(crate) fn has(&self, likeness: &Likeness) -> bool {
        self.state()
            .places
            .iter()
            .any(|idle| idle.likeness == *likeness)
    }

    /// Brings a place; the oldest goes when there are too many.
    pub(crate) fn put(
        &self,
        leave: &Leave,
        plan: Plan,
        likeness: Likeness,
        stamps: Vec<Option<Stamp>>,
        ready: Ready,
    ) {
        let idle = Idle {
            plan,
            likeness,
            stamps,
            since: Instant::now(),
            ready: Some(ready),
        };
        let mut state = self.state();
        if state.generation != leave.generation {
            return;
        }
        state.places.push(idle);
        let surplus = if state.places.len() > MOST {
            Some(state.places.remove(0))
        } else {
            None
        };
        drop(state);
        drop(surplus);
    }

    /// Throws away what nobody came for.
    pub(crate) fn tidy(&self) {
        let mut state = self.state();
        let (kept, old): (Vec<_>, Vec<_>) = std::mem::take(&mut state.places)
            .into_iter()
            .partition(|idle| idle.since.elapsed() < PATIENCE);
        state.places = kept;
        drop(state);
        drop(old);
    }

    /// What waits, if the mounts are still what they were.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.mounts.as_ref().is_some_and(have_changed) {
            state.places.clear();
            state.generation += 1;
        }
        state
    }
}

/// Whether mounts were made or removed since this was last asked.
fn have_changed(mounts: &File) -> bool {
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
