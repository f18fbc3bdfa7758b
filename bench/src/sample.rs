//! Repeated measurements.

use std::time::{Duration, Instant};

/// Measurements in one unit.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// The time of each of `count` runs, in microseconds.
    pub fn of(count: usize, mut work: impl FnMut()) -> Self {
        let time = |()| {
            let started = Instant::now();
            work();
            microseconds(started.elapsed())
        };
        Self(std::iter::repeat_n((), count).map(time).collect())
    }

    /// Adds one measurement.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Converts the measurements to another unit.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        Self(self.0.iter().map(|value| value * factor).collect())
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.percentile(50)
    }

    /// The measurement below which `share` percent lie.
    #[must_use]
    pub fn percentile(&self, share: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1);
        sorted
            .get((sorted.len() * share / 100).min(last))
            .copied()
            .unwrap_or_default()
    }
}

/// A duration in microseconds.
pub(crate) fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
