//! When a call must end, and who set that limit.

use crate::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use std::time::Duration;
use tokio::time::Instant;

/// Long enough to mean no limit.
const FAR: Duration = Duration::from_secs(10 * 365 * 86_400);

/// When a body must have ended, and who set that limit.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    pub(super) limit: Duration,
    whose: Whose,
}

/// Who set a limit.
#[derive(Clone, Copy)]
enum Whose {
    Tool,
    Caller,
    Run,
}

fn earlier(one: Deadline, other: Option<Deadline>) -> Deadline {
    other.filter(|other| other.at < one.at).unwrap_or(one)
}

impl Deadline {
    /// The earlier of the caller's limit and the run's. It bounds all work for a call.
    pub(super) fn of_call(started: Instant, budget: Duration, timeout: Option<Duration>) -> Self {
        let run = Self {
            at: started.checked_add(budget).unwrap_or(started + FAR),
            limit: budget,
            whose: Whose::Run,
        };
        // A limit beyond the range of the clock counts as no limit.
        let caller = timeout.and_then(|limit| {
            Some(Self {
                at: started.checked_add(limit)?,
                limit,
                whose: Whose::Caller,
            })
        });
        earlier(run, caller)
    }

    /// The earlier of this end of a call and the tool's own limit, which counts from now.
    #[inline]
    pub(super) fn for_tool(self, tool: &RegisteredTool) -> Self {
        let own = Some(Duration::from_millis(tool.tool.timeout_ms));
        // Only a tool with a limit needs the clock.
        let own = own.filter(|limit| !limit.is_zero()).and_then(|limit| {
            Some(Self {
                at: Instant::now().checked_add(limit)?,
                limit,
                whose: Whose::Tool,
            })
        });
        earlier(self, own)
    }

    /// The same limit, later by `time`. Few calls wait for a person.
    #[cold]
    pub(super) fn later(self, time: Duration) -> Self {
        match self.at.checked_add(time) {
            Some(at) => Self { at, ..self },
            None => self,
        }
    }

    pub(super) fn refusal(self, tool: &RegisteredTool, what: &str) -> Refusal {
        let (set_by, help) = match self.whose {
            Whose::Tool => (
                "the tool's `timeout_ms`",
                "ask for less work, or have a person raise `timeout_ms`",
            ),
            Whose::Caller => (
                "the limit of this call",
                "ask for less work, or give the call more time",
            ),
            Whose::Run => ("the time any call has", "ask for less work at once"),
        };
        let message = format!(
            "`{}` {what} within {} ms, {set_by}",
            tool.name(),
            self.limit.as_millis()
        );
        Refusal::new(Code::Timeout, message)
            .help(help)
            .detail("limit_ms", whole_ms(self.limit))
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
