//! The stages of a call, in order.

use std::fmt;
use std::time::{Duration, Instant};

/// A stage of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The tool exists and is offered; the arguments are JSON that fits its schema.
    Admit,
    /// The rules allow the call.
    Authorize,
    /// Hooks and middleware allow it, and may change its arguments.
    Before,
    /// A person agrees, where one must.
    Approve,
    /// The body runs.
    Execute,
    /// Hooks see the result; it is redacted and bounded.
    Finish,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Self; 6] = [
        Self::Admit,
        Self::Authorize,
        Self::Before,
        Self::Approve,
        Self::Execute,
        Self::Finish,
    ];

    /// The word that events, reports and people use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Admit => "admit",
            Self::Authorize => "authorize",
            Self::Before => "before",
            Self::Approve => "approve",
            Self::Execute => "execute",
            Self::Finish => "finish",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// How long each stage of a call took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageTimes([Option<Duration>; Stage::ALL.len()]);

impl StageTimes {
    /// Sets the time of a stage that the call reached.
    fn set(&mut self, stage: Stage, time: Duration) {
        self.0[stage as usize] = Some(time);
    }

    /// The stages that the call reached, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Stage, Duration)> {
        let times = Stage::ALL.into_iter().zip(self.0);
        times.filter_map(|(stage, time)| Some((stage, time?)))
    }
}

/// Measures each stage of one call, for its last event. It reads the clock only if something listens.
pub(crate) struct Stopwatch {
    started: Option<Instant>,
    ended: [Option<Instant>; Stage::ALL.len()],
}

impl Stopwatch {
    /// A watch for a call that started then; without a time it measures nothing.
    pub(crate) fn new(started: Option<Instant>) -> Self {
        Self {
            started,
            ended: [None; Stage::ALL.len()],
        }
    }

    /// Notes that a stage ended.
    pub(crate) fn lap(&mut self, stage: Stage) {
        if let (Some(_), Some(ended)) = (self.started, self.ended.get_mut(stage as usize)) {
            *ended = Some(Instant::now());
        }
    }

    /// Notes that the last stage ended when the call had taken this long.
    pub(crate) fn done(&mut self, elapsed: Duration) {
        self.ended[Stage::Finish as usize] = self.started.map(|started| started + elapsed);
    }

    /// How long each stage took.
    pub(crate) fn times(&self) -> StageTimes {
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
