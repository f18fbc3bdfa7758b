//! The soft bounds of a request: the evaluator asks every thousand steps whether it may go on.

use std::cell::Cell;
use std::time::{Duration, Instant};
use tool_harness::worker::protocol::Budget;
use tool_harness_sandbox::process::own_cpu_time;

/// Which bound ended an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tripped {
    /// Wall-clock time, with the limit that was passed.
    Wall(Duration),
    /// Processor time.
    Cpu,
}

/// The bounds of one request, and of the link of a chain that runs now.
#[derive(Debug)]
pub(super) struct Meter {
    budget: Budget,
    whole: Option<Deadline>,
    part: Cell<Option<Deadline>>,
    cpu: Option<Processor>,
    tripped: Cell<Option<Tripped>>,
}

/// A bound on processor time. It runs from the first question, a thousand steps in: short scripts never ask the system. One thread
/// uses no more of it than passes on the clock, which is cheaper to read.
#[derive(Debug)]
struct Processor {
    limit: Duration,
    end: Cell<Option<Duration>>,
    earliest: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Meter {
    pub(super) fn start(budget: &Budget) -> Self {
        Self {
            budget: *budget,
            whole: Deadline::after(budget.wall_ms),
            part: Cell::new(None),
            cpu: Processor::after(budget.cpu_ms),
            tripped: Cell::new(None),
        }
    }

    /// What the request may use.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Bounds what follows by another `timeout_ms`; zero means only by the whole.
    pub(super) fn enter_part(&self, timeout_ms: u64) {
        self.part.set(Deadline::after(timeout_ms));
        self.tripped.set(None);
    }

    /// Whether a bound was passed; remembers which.
    pub(super) fn exceeded(&self) -> bool {
        let now = Instant::now();
        let late = [self.part.get(), self.whole]
            .into_iter()
            .flatten()
            .find(|deadline| now >= deadline.at);
        let tripped = match late {
            Some(deadline) => Some(Tripped::Wall(deadline.limit)),
            None => self
                .cpu
                .as_ref()
                .is_some_and(|bound| bound.is_passed(now))
                .then_some(Tripped::Cpu),
        };
        self.tripped.set(tripped.or(self.tripped.get()));
        tripped.is_some()
    }

    pub(super) fn tripped(&self) -> Option<Tripped> {
        self.tripped.get()
    }
}

impl Processor {
    fn after(limit_ms: u64) -> Option<Self> {
        let limit = Duration::from_millis(limit_ms);
        (limit_ms > 0).then(|| Self {
            limit,
            end: Cell::new(None),
            earliest: Instant::now().checked_add(limit),
        })
    }

    fn is_passed(&self, now: Instant) -> bool {
        let Some(end) = self.end.get() else {
            self.end
                .set(Some(own_cpu_time().saturating_add(self.limit)));
            return false;
        };
        self.earliest.is_some_and(|earliest| now >= earliest) && own_cpu_time() >= end
    }
}

impl Deadline {
    fn after(limit_ms: u64) -> Option<Self> {
        let limit = Duration::from_millis(limit_ms);
        // A limit beyond what the clock can say is none.
        (limit_ms > 0)
            .then(|| Instant::now().checked_add(limit))
            .flatten()
            .map(|at| Self { at, limit })
    }
}
