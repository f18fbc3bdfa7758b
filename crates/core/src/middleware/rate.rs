//! Limits how often a tool is called in a period.

use super::{Decision, Judged, Middleware, Step};
use crate::id::ToolName;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limits how often each tool may be called in a period. A call over the limit waits if it has time
/// left. Otherwise, or after a thousand waits, it is refused as `tool.limit`.
#[derive(Debug)]
pub struct RateLimit {
    calls: usize,
    per: Duration,
    made: Mutex<HashMap<ToolName, VecDeque<Instant>>>,
}

impl RateLimit {
    /// Allows this many calls in this period. Zero calls refuses all.
    #[must_use]
    pub fn new(calls: usize, per: Duration) -> Self {
        Self {
            calls,
            per,
            made: Mutex::default(),
        }
    }

    /// How long a call of a tool must wait; counts the call if it need not.
    fn wait(&self, tool: &ToolName, now: Instant) -> Option<Duration> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.entry(tool.clone()).or_default();
        while made
            .front()
            .is_some_and(|first| now.duration_since(*first) >= self.per)
        {
            made.pop_front();
        }
        if made.len() < self.calls {
            made.push_back(now);
            return None;
        }
        made.front()
            .map(|first| self.per.saturating_sub(now.duration_since(*first)))
    }
}

impl Middleware for RateLimit {
    fn name(&self) -> &str {
        "rate_limit"
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        if self.calls == 0 {
            return Decision::Refuse("its rate allows no calls at all".to_owned()).into();
        }
        if call.call().is_rehearsed() {
            return Decision::Allow.into();
        }
        match self.wait(call.call().tool().canonical(), Instant::now()) {
            None => Decision::Allow.into(),
            Some(wait) => Decision::Defer(wait).into(),
        }
    }
}
