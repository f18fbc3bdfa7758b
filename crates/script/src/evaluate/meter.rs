//! The time limits of a request. The evaluator asks every thousand steps whether it may go on.

use std::cell::Cell;
use std::time::{Duration, Instant};
use tool_harness::worker::protocol::Budget;
use tool_harness_sandbox::process::own_cpu_time;

/// The limit that an evaluation exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExceededLimit {
    /// Wall-clock time.
    Wall(Duration),
    /// CPU time.
    Cpu,
}

/// The limits of one request, and of the current link of a chain.
#[derive(Debug)]
pub(super) struct Meter {
    budget: Budget,
    request: Option<WallLimit>,
    link: Cell<Option<WallLimit>>,
    cpu: Option<CpuLimit>,
    exceeded: Cell<Option<ExceededLimit>>,
}

/// A limit on CPU time. It counts from the first check, a thousand steps in, so that short scripts
/// never make the system call. One thread uses no more CPU time than passes on the clock, which is
/// cheaper to read.
#[derive(Debug)]
struct CpuLimit {
    limit: Duration,
    end: Cell<Option<Duration>>,
    earliest: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct WallLimit {
    at: Instant,
    limit: Duration,
}

impl Meter {
    pub(super) fn start(budget: &Budget) -> Self {
        Self {
            budget: *budget,
            request: WallLimit::after(budget.wall_ms),
            link: Cell::new(None),
            cpu: CpuLimit::after(budget.cpu_ms),
            exceeded: Cell::new(None),
        }
    }

    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Starts the time limit of the next link; zero means only the request's.
    pub(super) fn enter_link(&self, timeout_ms: u64) {
        self.link.set(WallLimit::after(timeout_ms));
        self.exceeded.set(None);
    }

    /// Whether a limit is exceeded; remembers which.
    pub(super) fn check(&self) -> bool {
        let now = Instant::now();
        let late = [self.link.get(), self.request]
            .into_iter()
            .flatten()
            .find(|deadline| now >= deadline.at);
        let exceeded = match late {
            Some(deadline) => Some(ExceededLimit::Wall(deadline.limit)),
            None => self
                .cpu
                .as_ref()
                .is_some_and(|limit| limit.is_exceeded(now))
                .then_some(ExceededLimit::Cpu),
        };
        self.exceeded.set(exceeded.or(self.exceeded.get()));
        exceeded.is_some()
    }

    pub(super) fn exceeded(&self) -> Option<ExceededLimit> {
        self.exceeded.get()
    }
}

impl CpuLimit {
    fn after(limit_ms: u64) -> Option<Self> {
        let limit = Duration::from_millis(limit_ms);
        (limit_ms > 0).then(|| Self {
            limit,
            end: Cell::new(None),
            earliest: Instant::now().checked_add(limit),
        })
    }

    fn is_exceeded(&self, now: Instant) -> bool {
        let Some(end) = self.end.get() else {
            self.end
                .set(Some(own_cpu_time().saturating_add(self.limit)));
            return false;
        };
        self.earliest.is_some_and(|earliest| now >= earliest) && own_cpu_time() >= end
    }
}

impl WallLimit {
    fn after(limit_ms: u64) -> Option<Self> {
        let limit = Duration::from_millis(limit_ms);
        // A limit beyond the range of the clock is no limit.
        (limit_ms > 0)
            .then(|| Instant::now().checked_add(limit))
            .flatten()
            .map(|at| Self { at, limit })
    }
}
