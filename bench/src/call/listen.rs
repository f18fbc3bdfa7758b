//! Event sinks.

use crate::{Report, Samples};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tool_harness::event::{Delivery, EventRef, Sink};

/// Counts events.
#[derive(Default)]
pub(super) struct Counter(AtomicUsize);

impl Sink for Counter {
    fn record(&self, _: &EventRef<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

/// Records the time of each stage.
#[derive(Default)]
pub(super) struct Stages(Mutex<Vec<(String, Samples)>>);

impl Sink for Stages {
    fn record(&self, event: &EventRef<'_>) {
        let mut stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (stage, time) in event
            .fields()
            .get("stages_ms")
            .and_then(|stages| stages.as_object())
            .into_iter()
            .flatten()
        {
            let microseconds = time.as_f64().unwrap_or_default() * 1000.0;
            match stages.iter_mut().find(|(name, _)| name == stage) {
                Some((_, samples)) => samples.push(microseconds),
                None => {
                    let mut samples = Samples::default();
                    samples.push(microseconds);
                    stages.push((stage.clone(), samples));
                }
            }
        }
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

impl Stages {
    pub(super) fn clear(&self) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Adds the median of each stage.
    pub(super) fn report(&self, report: &mut Report, case: &str) {
        for (stage, samples) in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            report.add(format!("{case}, stage {stage}"), samples.median(), "µs");
        }
    }
}
