//! Retries of failed attempts.

use super::attempt;
use super::body::cancelled;
use crate::artifact::tool::RetryPolicy;
use crate::event::EventKind;
use crate::refusal::{Class, Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::Enforced;
use crate::run::context::Context;
use crate::run::outcome::BodyResult;
use crate::view::ActiveTool;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// Runs the body while it fails with a retryable error, as often as its policy allows.
pub(in crate::run) async fn repeated(
    ctx: &Context,
    tool: &Arc<ActiveTool>,
    arguments: &mut Map<String, Value>,
    retry: RetryPolicy,
) -> (BodyResult, Enforced) {
    let mut made = 1;
    loop {
        let last = made >= retry.max_attempts;
        let mut these = if last {
            std::mem::take(arguments)
        } else {
            arguments.clone()
        };
        let (outcome, enforced) = attempt(ctx, tool, &mut these).await;
        match &outcome {
            Err(failure) if !last && may_pass(ctx, &failure.error) => {
                match pause(ctx, tool, retry, made, &failure.error).await {
                    RetryWait::Over => made += 1,
                    RetryWait::TooLong => return (outcome, enforced),
                    RetryWait::Cancelled => return (Err(cancelled(tool).into()), enforced),
                }
            }
            _ => return (outcome, enforced),
        }
    }
}

/// Whether another attempt may succeed. A cancelled call is not retried, nor is one whose abandoned
/// thread is still running.
fn may_pass(ctx: &Context, error: &Refusal) -> bool {
    error.class == Class::Retryable
        && error.code != Code::Cancelled
        && !ctx.hold().is_some_and(|hold| hold.was_left())
}

/// The outcome of the wait before the next attempt.
enum RetryWait {
    Over,
    /// The call has no time for another attempt.
    TooLong,
    Cancelled,
}

async fn pause(
    ctx: &Context,
    tool: &RegisteredTool,
    retry: RetryPolicy,
    made: u32,
    error: &Refusal,
) -> RetryWait {
    let wait = jittered(retry.backoff(made));
    let end = ctx.ends().for_tool(tool).at;
    if tokio::time::Instant::now() + wait >= end {
        return RetryWait::TooLong;
    }
    ctx.record(|| EventKind::ToolRetried {
        tool: tool.name().to_owned(),
        attempt: made + 1,
        code: Some(error.code),
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
    });
    tokio::select! {
        biased;
        () = ctx.call().cancel.cancelled() => RetryWait::Cancelled,
        () = tokio::time::sleep(wait), if !wait.is_zero() => RetryWait::Over,
        () = std::future::ready(()), if wait.is_zero() => RetryWait::Over,
    }
}

/// Between half and all of a wait, so that calls which failed together do not retry together.
fn jittered(wait: Duration) -> Duration {
    let mut chance = [0; 2];
    // If this fails, such calls do retry together.
    let _ = getrandom::fill(&mut chance);
    wait / 2 + (wait / 2) * u32::from(u16::from_le_bytes(chance)) / u32::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_their_cap_and_differ_by_chance() {
        let retry = RetryPolicy {
            max_attempts: 9,
            initial_backoff_ms: 100,
            max_backoff_ms: 1000,
            multiplier: 3.0,
        };
        let waits: Vec<u128> = (1..5).map(|made| retry.backoff(made).as_millis()).collect();
        assert_eq!(waits, [100, 300, 900, 1000]);
        let chosen: std::collections::HashSet<Duration> =
            (0..50).map(|_| jittered(Duration::from_secs(1))).collect();
        assert!(
            chosen.len() > 10
                && chosen
                    .iter()
                    .all(|wait| (500..=1000).contains(&wait.as_millis()))
        );
    }
}
