//! Sinks with guaranteed delivery: calls wait for them, the runtime does not.

use crate::support::{bare, call, echo, load_asking, numbered};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{Sender, channel};
use tool_harness::event::{Delivery, EventName, EventRef, Sink};
use tool_harness::{ToolError, ToolSpec};

/// Passes events to a task of the runtime, which must run for that.
struct ToTask(Sender<String>);

impl Sink for ToTask {
    fn record(&self, event: &EventRef<'_>) {
        let _ = self.0.blocking_send(event.name.text().to_owned());
    }

    fn delivery(&self) -> Delivery {
        Delivery::Waiting
    }
}

#[tokio::test]
async fn calls_wait_for_a_sink_that_needs_the_runtime_and_it_misses_nothing() {
    let (sender, mut receiver) = channel(4);
    let engine = bare()
        .sink(Arc::new(ToTask(sender)))
        .tool(echo("echo"))
        .load()
        .await
        .expect("an engine");
    let taken = tokio::spawn(async move {
        let mut ends = 0;
        while ends < 3000 {
            ends += usize::from(receiver.recv().await.expect("an event") == "tool.completed");
        }
        ends
    });
    for n in 0..3000 {
        let result = engine.call(call("echo", json!({"n": n}))).await;
        assert!(!result.is_error, "{}", result.text());
    }
    let taken = tokio::time::timeout(Duration::from_secs(30), taken)
        .await
        .expect("the calls do not deadlock")
        .expect("counted");
    assert_eq!((taken, engine.missed_events()), (3000, 0));
}

/// Handles events slowly, and counts final events.
struct Slow(AtomicU64);

impl Sink for Slow {
    fn record(&self, event: &EventRef<'_>) {
        std::thread::sleep(Duration::from_millis(1));
        self.0.fetch_add(
            u64::from(event.name == EventName::ToolCompleted),
            Ordering::SeqCst,
        );
    }

    fn delivery(&self) -> Delivery {
        Delivery::Waiting
    }
}

#[tokio::test]
async fn no_call_waits_for_a_sink_beyond_its_deadline_and_other_calls_go_on() {
    let slow = Arc::new(Slow(AtomicU64::new(0)));
    let engine = bare()
        .sink(Arc::clone(&slow) as Arc<dyn Sink>)
        .tool(echo("echo"))
        .load()
        .await
        .expect("an engine");
    let ticks = Arc::<AtomicU64>::default();
    let ticked = Arc::clone(&ticks);
    let ticking = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            ticked.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (mut made, mut waited) = (0, Vec::new());
    // Its queue is full after some hundred calls, and the current batch takes a second.
    while waited.len() < 3 {
        assert!(made < 20_000, "no call waited for the sink");
        let mut timed = call("echo", json!({"n": made}));
        timed.timeout = Some(Duration::from_millis(100));
        let (started, before) = (Instant::now(), ticks.load(Ordering::SeqCst));
        engine.call(timed).await;
        made += 1;
        let took = started.elapsed();
        if took > Duration::from_millis(80) {
            waited.push((took, ticks.load(Ordering::SeqCst) - before));
        }
    }
    // The fastest: a busy machine may delay any of them.
    assert!(
        waited
            .iter()
            .any(|(took, _)| *took < Duration::from_millis(700)),
        "{waited:?}"
    );
    assert!(
        waited.iter().any(|(_, ticks)| *ticks > 5),
        "the runtime's thread was not free: {waited:?}"
    );
    ticking.abort();
    assert!(engine.flush(Duration::from_secs(60)).await);
    assert_eq!(
        slow.0.load(Ordering::SeqCst),
        made,
        "no final event is lost"
    );
}

#[tokio::test]
async fn every_event_field_is_in_the_event_table() {
    let fails = numbered(ToolSpec::new("fail", "Fails.").pure(), |_| async move {
        Err(ToolError::fatal("broken", "broken"))
    });
    let (engine, events) = load_asking(bare().tool(echo("echo")).tool(fails)).await;
    for (tool, arguments) in [
        ("echo", json!({"n": 1})),
        ("fail", json!({"n": 1})),
        ("echo", json!({})),
    ] {
        engine.call(call(tool, arguments)).await;
    }
    assert_eq!(
        events.ends(),
        ["tool.completed", "tool.failed", "tool.rejected"]
    );
    for event in events.all() {
        let documented = event.kind.name().fields();
        let fields = event.fields();
        let unknown: Vec<&String> = fields
            .keys()
            .filter(|field| !documented.iter().any(|(name, _)| name == field))
            .collect();
        assert!(unknown.is_empty(), "{}: {unknown:?}", event.name());
    }
}
