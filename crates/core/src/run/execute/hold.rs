//! What a call holds exclusively: its key, the values and paths that no other call may use at the
//! same time, and the place of a blocking tool.

use super::BodyResult;
use super::idempotency::lost;
use crate::refusal::Class;
use crate::registry::RegisteredTool;
use crate::run::context::Context;
use crate::slots::Held;
use std::sync::atomic::{AtomicBool, Ordering};

/// Owned by the call and by its thread, if one is left behind, until both have ended.
pub(in crate::run) struct Hold {
    key: Option<String>,
    _alone: Vec<Held>,
    was_done: AtomicBool,
    was_left: AtomicBool,
}

impl Hold {
    pub(in crate::run) fn new(key: Option<String>, alone: Vec<Held>) -> Self {
        Self {
            key,
            _alone: alone,
            was_done: AtomicBool::new(false),
            was_left: AtomicBool::new(false),
        }
    }

    pub(in crate::run) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Records that a thread of the call outlives it.
    pub(in crate::run) fn leave(&self) {
        self.was_left.store(true, Ordering::SeqCst);
    }

    /// Whether a thread of the call outlives it. Then no retry may start beside it.
    pub(in crate::run) fn was_left(&self) -> bool {
        self.was_left.load(Ordering::SeqCst)
    }

    /// Stores the body's outcome if it did its work. If layers have yet to see it, stores only that
    /// the work was done.
    pub(in crate::run) fn body_ended(
        &self,
        ctx: &Context,
        tool: &RegisteredTool,
        outcome: &BodyResult,
    ) {
        let is_done = outcome
            .as_ref()
            .map_or_else(|failure| failure.is_done, |_| true);
        let Some(key) = self.key.as_deref().filter(|_| is_done) else {
            return;
        };
        self.was_done.store(true, Ordering::SeqCst);
        let is_last = ctx.shared().host.around.is_empty();
        ctx.shared().in_flight.stored.put(
            tool.name(),
            key,
            if is_last {
                with_kept(ctx, outcome)
            } else {
                lost(tool.name())
            },
        );
    }

    /// Stores what the layers made of the body's outcome. A retryable error is not stored: the
    /// work is done, and a retry would not run it again.
    pub(in crate::run) fn layers_ended(
        &self,
        ctx: &Context,
        tool: &RegisteredTool,
        outcome: &BodyResult,
    ) {
        let in_flight = &ctx.shared().in_flight;
        let may_pass = outcome
            .as_ref()
            .is_err_and(|failure| failure.error.class == Class::Retryable);
        let is_theirs = !ctx.shared().host.around.is_empty()
            && self.was_done.load(Ordering::SeqCst)
            && !may_pass;
        if let Some(key) = self.key.as_deref().filter(|_| is_theirs) {
            in_flight
                .stored
                .put(tool.name(), key, with_kept(ctx, outcome));
        }
    }
}

/// The outcome with every artifact that the call stored.
fn with_kept(ctx: &Context, outcome: &BodyResult) -> BodyResult {
    let mut outcome = outcome.clone();
    let output = match &mut outcome {
        Ok(output) => output,
        Err(failure) => &mut failure.rest,
    };
    ctx.list_stored(&mut output.artifacts);
    outcome
}
