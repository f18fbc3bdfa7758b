//! Measures each stage of one call, for its last event.

use super::context::Context;
use crate::result::ToolResult;
use crate::stage::Stage;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Reads the clock only if something listens.
pub(super) struct Stopwatch {
    started: Option<Instant>,
    ended: [Option<Instant>; Stage::ALL.len()],
}

impl Stopwatch {
    pub(super) fn start(ctx: &Context) -> Self {
        Self {
            started: ctx.is_read().then(|| ctx.started().into_std()),
            ended: [None; Stage::ALL.len()],
        }
    }

    /// Notes that a stage ended.
    pub(super) fn lap(&mut self, stage: Stage) {
        if let (Some(_), Some(ended)) = (self.started, self.ended.get_mut(stage as usize)) {
            *ended = Some(Instant::now());
        }
    }

    /// Notes that the last stage ended when its result was ready.
    pub(super) fn done(&mut self, result: &ToolResult) {
        self.ended[Stage::Finish as usize] = self.started.map(|started| started + result.elapsed);
    }

    /// Milliseconds by stage, rounded to the nanosecond.
    pub(super) fn to_json(&self) -> Value {
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e9).round() / 1e6;
        let mut last = self.started;
        let taken = Stage::ALL
            .iter()
            .zip(self.ended)
            .filter_map(|(stage, ended)| {
                let time = ended? - last.replace(ended?)?;
                Some((stage.word().to_owned(), Value::from(milliseconds(time))))
            });
        taken.collect::<Map<_, _>>().into()
    }
}
