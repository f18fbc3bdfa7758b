//! When a call must be over, and by whose limit.

use super::context::Context;
use super::refusal::{Code, Refusal};
use crate::registry::RegisteredTool;
use std::time::Duration;
use tokio::time::Instant;

/// A time nobody waits for.
const FAR: Duration = Duration::from_secs(10 * 365 * 86_400);

/// When a body must have ended, and by whose limit.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    pub(super) at: Instant,
    limit: Duration,
    whose: Whose,
}

/// Who set a limit.
#[derive(Clone, Copy)]
enum Whose {
    Tool,
    Caller,
    Run,
}

/// How long the processes of a call may take, as far as it can be told before.
pub(super) fn longest(ctx: &Context, tool: &RegisteredTool) -> Duration {
    deadline(ctx, tool).limit
}

/// The earliest of the tool's cap, the caller's and the run's.
pub(super) fn deadline(ctx: &Context, tool: &RegisteredTool) -> Deadline {
    let own = Some(Duration::from_millis(tool.tool.timeout_ms)).filter(|limit| !limit.is_zero());
    // The clock is looked at only for a tool that has a cap.
    let limits = [(own, own.map_or(ctx.started(), |_| Instant::now()), Whose::Tool), (ctx.call().timeout, ctx.started(), Whose::Caller)];
    // A bound beyond what a clock can show is none.
    let set = limits.into_iter().filter_map(|(limit, from, whose)| Some(Deadline { at: from.checked_add(limit?)?, limit: limit?, whose }));
    let at = ctx.started().checked_add(ctx.shared().budget).unwrap_or(ctx.started() + FAR);
    let run = Deadline { at, limit: ctx.shared().budget, whose: Whose::Run };
    set.fold(run, |first, other| if other.at < first.at { other } else { first })
}

impl Deadline {
    pub(super) fn refusal(self, tool: &RegisteredTool, what: &str) -> Refusal {
        let (set_by, help) = match self.whose {
            Whose::Tool => ("the tool's `timeout_ms`", "ask for less work, or have a person raise `timeout_ms`"),
            Whose::Caller => ("the limit of this call", "ask for less work, or give the call more time"),
            Whose::Run => ("the time any call has", "ask for less work at once"),
        };
        let message = format!("`{}` {what} within {} ms, {set_by}", tool.name(), self.limit.as_millis());
        Refusal::new(Code::Timeout, message).help(help).detail("limit_ms", whole_ms(self.limit))
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
