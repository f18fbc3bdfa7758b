//! Event sinks.

use crate::{Report, Samples};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tool_harness::event::{Delivery, EventKind, EventRef, Sink};

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
        let EventKind::ToolCompleted { stages_ms, .. } = event.kind() else {
            return;
        };
        let mut stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (stage, time) in stages_ms.iter() {
            let microseconds = time.as_secs_f64() * 1e6;
            match stages.iter_mut().find(|(known, _)| *known == stage.word()) {
                Some((_, samples)) => samples.push(microseconds),
                None => {
                    let mut samples = Samples::default();
                    samples.push(microseconds);
                    stages.push((stage.word().to_owned(), samples));
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
