//! How long each stage of one call took, for its last event.

use super::context::Context;
use crate::result::ToolResult;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// The stages. The writing of the first event is the beginning of the third.
#[derive(Clone, Copy)]
pub(super) enum Stage {
    Admit,
    Authorize,
    Before,
    Execute,
    Finish,
}

/// Their names, in order.
const STAGES: [&str; 5] = ["admit", "authorize", "before", "execute", "finish"];

/// It does not look at the clock when nobody listens.
pub(super) struct Stopwatch {
    started: Option<Instant>,
    ended: [Option<Instant>; STAGES.len()],
}

impl Stopwatch {
    pub(super) fn start(ctx: &Context) -> Self {
        Self {
            started: ctx.is_read().then(|| ctx.started().into_std()),
            ended: [None; STAGES.len()],
        }
    }

    /// Notes that a stage ended.
    pub(super) fn lap(&mut self, stage: Stage) {
        if let (Some(_), Some(ended)) = (self.started, self.ended.get_mut(stage as usize)) {
            *ended = Some(Instant::now());
        }
    }

    /// Notes that the last stage ended when its result was done.
    pub(super) fn done(&mut self, result: &ToolResult) {
        self.ended[Stage::Finish as usize] = self.started.map(|started| started + result.elapsed);
    }

    /// Milliseconds by stage, to a millionth.
    pub(super) fn to_json(&self) -> Value {
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1e9).round() / 1e6;
        let mut last = self.started;
        let taken = STAGES.iter().zip(self.ended).filter_map(|(stage, ended)| {
            let time = ended? - last.replace(ended?)?;
            Some(((*stage).to_owned(), Value::from(milliseconds(time))))
        });
        taken.collect::<Map<_, _>>().into()
    }
}
