//! Keeping a worker on the core of the thread that waits for its answer.
//!
//! A short script takes less time than waking a sleeping core, several times less on a virtual
//! machine. The scheduler does not know that: it gives the worker another core, and the answer
//! wakes the first one again. While one thread does nothing but wait for one worker, both run best
//! on the same core.

use super::WorkerProcess;
use crate::process::child::wait_readable;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::os::fd::AsFd;
use std::time::Duration;

/// The evaluator thread of a worker, the core it is pinned to, and its affinity before.
#[derive(Debug)]
pub(super) struct PinnedEvaluator {
    evaluator: Pid,
    core: usize,
    before: CpuSet,
}

/// Keeps this thread on its core until dropped. Start no thread or process meanwhile: it would stay
/// on that core for good.
struct PinnedThread {
    before: CpuSet,
}

impl WorkerProcess {
    /// Runs `ask`, and waits at most `patience` until `answer` is readable, with the worker and
    /// this thread on one core. Pinning is best effort, and the caller must check whether there is
    /// an answer.
    pub fn ask_on_one_core<T>(
        &mut self,
        answer: impl AsFd,
        patience: Duration,
        ask: impl FnOnce() -> T,
    ) -> T {
        let thread = self.pin();
        let asked = ask();
        let answered = wait_readable(&answer, patience);
        drop(thread);
        if answered != Ok(true) {
            self.unpin();
        }
        asked
    }

    /// Undoes the pinning of [`ask_on_one_core`](Self::ask_on_one_core).
    pub fn unpin(&mut self) {
        if let Some(PinnedEvaluator {
            evaluator, before, ..
        }) = self.pinned.take()
        {
            // This fails if the worker is gone.
            let _ = sched_setaffinity(Some(evaluator), &before);
        }
    }

    fn pin(&mut self) -> Option<PinnedThread> {
        let before = sched_getaffinity(None).ok()?;
        if before.count() < 2 {
            return None;
        }
        let core = sched_getcpu();
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).ok()?;
        let thread = PinnedThread { before };
        if self
            .pinned
            .as_ref()
            .is_none_or(|pinned| pinned.core != core)
        {
            let known = self.pinned.as_ref().map(|pinned| pinned.evaluator);
            let evaluator = known.or_else(|| evaluator(self.process.pid))?;
            sched_setaffinity(Some(evaluator), &one).ok()?;
            self.pinned = Some(PinnedEvaluator {
                evaluator,
                core,
                before,
            });
        }
        Some(thread)
    }
}

impl Drop for PinnedThread {
    fn drop(&mut self) {
        // If the allowed set changed meanwhile, the thread stays where it is.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The evaluator's thread: the first thread only waits for the end, and there are no others.
fn evaluator(pid: libc::pid_t) -> Option<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let numbers = threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number| *number != pid)
        .find_map(Pid::from_raw)
}
