//! At most so many calls of a tool in a while.

use super::{Decision, Judged, Middleware, Step};
use crate::id::ToolName;
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Lets each tool be called so often in a while, and puts off what would be more: it waits if it
/// has the time, and is refused as `tool.limit` if it has not, or if a thousand whiles were not
/// enough.
#[derive(Debug)]
pub struct RateLimit {
    calls: usize,
    per: Duration,
    made: Mutex<HashMap<ToolName, VecDeque<Instant>>>,
}

impl RateLimit {
    /// So many calls in this time. Where it is none, all are refused.
    #[must_use]
    pub fn new(calls: usize, per: Duration) -> Self {
        Self {
            calls,
            per,
            made: Mutex::default(),
        }
    }

    /// How long a call of a tool has to wait; counted when it has not.
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
            return Decision::Refuse("its rate is no calls at all".to_owned()).into();
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
