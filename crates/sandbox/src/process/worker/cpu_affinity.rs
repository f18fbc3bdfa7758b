//! Keeping a worker near the thread that waits for its answer.
//!
//! A short script takes less time than waking a core that sleeps, several times less on a virtual machine. The scheduler knows nothing of
//! that: it gives the worker another core, and the answer wakes the first one again. While one thread does nothing but wait for one
//! worker, both do best on the same core.

use super::WorkerProcess;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::os::fd::AsFd;
use std::time::Duration;

/// Where the thread of a worker that evaluates was put, and where it might be before.
#[derive(Debug)]
pub(super) struct Held {
    evaluator: Pid,
    core: usize,
    before: CpuSet,
}

/// This thread stays on its core until this is dropped. Nothing may be started meanwhile: a new thread or process would stay there for
/// good.
struct Still {
    before: CpuSet,
}

impl WorkerProcess {
    /// Does `ask`, and waits until `answer` can be read, at most `patience`, with the worker and this thread on one core. What cannot be
    /// had of that is left out: the caller has to see for itself whether there is an answer.
    pub fn ask_near<T>(
        &mut self,
        answer: impl AsFd,
        patience: Duration,
        ask: impl FnOnce() -> T,
    ) -> T {
        let still = self.gather();
        let asked = ask();
        let patience = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        let heard = poll(&mut [PollFd::new(&answer, PollFlags::IN)], Some(&patience));
        drop(still);
        if !matches!(heard, Ok(1)) {
            self.let_go();
        }
        asked
    }

    /// Lets the worker run wherever it might before [`ask_near`](Self::ask_near).
    pub fn let_go(&mut self) {
        if let Some(Held {
            evaluator, before, ..
        }) = self.held.take()
        {
            // It fails for a worker that is gone.
            let _ = sched_setaffinity(Some(evaluator), &before);
        }
    }

    fn gather(&mut self) -> Option<Still> {
        let before = sched_getaffinity(None).ok()?;
        if before.count() < 2 {
            return None;
        }
        let core = sched_getcpu();
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).ok()?;
        let still = Still { before };
        if self.held.as_ref().is_none_or(|held| held.core != core) {
            let known = self.held.as_ref().map(|held| held.evaluator);
            let evaluator = known.or_else(|| evaluator(self.process.pid))?;
            sched_setaffinity(Some(evaluator), &one).ok()?;
            self.held = Some(Held {
                evaluator,
                core,
                before,
            });
        }
        Some(still)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        // What was allowed a moment ago; where that changed, the thread stays where it is.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The thread that evaluates: the first one only waits for the end, and there are no others.
fn evaluator(pid: libc::pid_t) -> Option<Pid> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let numbers = threads.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|number| *number != pid)
        .find_map(Pid::from_raw)
}
