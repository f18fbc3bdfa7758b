//! How long each stage of one call took, for its last event.

use super::context::Context;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Stages in the order they ended. It does not look at the clock when nobody listens.
pub(super) struct Stopwatch {
    laps: [(&'static str, Duration); MOST],
    taken: usize,
    last: Option<Instant>,
}

/// Stages of a call, the writing of its first event included.
const MOST: usize = 6;

impl Stopwatch {
    pub(super) fn start(ctx: &Context) -> Self {
        Self { laps: [("", Duration::ZERO); MOST], taken: 0, last: ctx.journal.is_read().then(|| ctx.started.into_std()) }
    }

    /// Notes that a stage ended, and passes on what it gave.
    pub(super) fn lap<T>(&mut self, stage: &'static str, given: T) -> T {
        if let Some(last) = &mut self.last {
            let now = Instant::now();
            if let Some(lap) = self.laps.get_mut(self.taken) {
                *lap = (stage, now - *last);
                self.taken += 1;
            }
            *last = now;
        }
        given
    }

    /// Milliseconds by stage, to a millionth.
    pub(super) fn to_json(&self) -> Value {
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e9).round() / 1e6;
        self.laps
            .iter()
            .take(self.taken)
            .map(|(stage, time)| ((*stage).to_owned(), Value::from(milliseconds(*time))))
            .collect::<Map<_, _>>()
            .into()
    }
}
