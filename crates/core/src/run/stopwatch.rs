//! How long each stage of one call took, for its last event.

use super::context::Context;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Stages in the order they ended. It does not look at the clock when nobody listens.
pub(super) struct Stopwatch {
    laps: Vec<(&'static str, Duration)>,
    last: Option<Instant>,
}

impl Stopwatch {
    pub(super) fn start(ctx: &Context) -> Self {
        Self { laps: Vec::new(), last: ctx.journal.is_read().then(Instant::now) }
    }

    /// Notes that a stage ended, and passes on what it gave.
    pub(super) fn lap<T>(&mut self, stage: &'static str, given: T) -> T {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            self.laps.push((stage, now - *last));
            *last = now;
        }
        given
    }

    /// Milliseconds by stage, to a millionth.
    pub(super) fn to_json(&self) -> Value {
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e9).round() / 1e6;
        self.laps.iter().map(|(stage, time)| ((*stage).to_owned(), Value::from(milliseconds(*time)))).collect::<Map<_, _>>().into()
    }
}
