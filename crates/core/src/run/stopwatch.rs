//! Measures each stage of one call, for its last event.

use crate::result::ToolResult;
use crate::stage::{Stage, StageTimes};
use std::time::Instant;

/// Reads the clock only if something listens.
pub(super) struct Stopwatch {
    started: Option<Instant>,
    ended: [Option<Instant>; Stage::ALL.len()],
}

impl Stopwatch {
    /// A watch for a call that started then; without a time it measures nothing.
    pub(super) fn new(started: Option<Instant>) -> Self {
        Self {
            started,
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

    /// How long each stage took.
    pub(super) fn times(&self) -> StageTimes {
        let mut times = StageTimes::default();
        let mut last = self.started;
        for (stage, ended) in Stage::ALL.into_iter().zip(self.ended) {
            if let (Some(ended), Some(begun)) = (ended, last) {
                times.set(stage, ended - begun);
                last = Some(ended);
            }
        }
        times
    }
}
