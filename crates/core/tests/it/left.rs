//! Threads that outlive their call: the same work does not start again while they run.

use crate::support::{Gate, Number, bare, call, code, load, until};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_harness::Effects;
use tool_harness::middleware::{Around, Later, Next, Seen};
use tool_harness::tool::{Idempotency, RetryPolicy, blocking};
use tool_harness::{Tool, ToolError, ToolOutput, ToolSpec};

/// Retries the inner call until it succeeds, at most four times.
struct Again;

impl Around for Again {
    fn name(&self) -> &str {
        "again"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        mut next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for _ in 0..3 {
                if let Ok(output) = next.run().await {
                    return Ok(output);
                }
            }
            next.run().await
        })
    }
}

/// A tool without limits that overruns its deadline, and how often it began.
fn slow(spec: ToolSpec, gate: &Gate) -> (impl Tool, Arc<AtomicUsize>) {
    let begun = Arc::<AtomicUsize>::default();
    let (counted, held) = (Arc::clone(&begun), gate.clone());
    let spec = spec
        .effects(Effects::WRITE)
        .idempotency(Idempotency::Natural)
        .timeout(Duration::from_millis(20));
    let tool = blocking(spec, move |input: Number| {
        counted.fetch_add(1, Ordering::SeqCst);
        held.pass();
        Ok(input.n)
    });
    (tool, begun)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_with_an_abandoned_thread_is_not_retried_even_without_a_permit() {
    let retry = RetryPolicy {
        max_attempts: 4,
        initial_backoff_ms: 1,
        max_backoff_ms: 1,
        multiplier: 1.0,
    };
    let gate = Gate::default();
    let (tool, begun) = slow(ToolSpec::new("write_it", "Writes.").retry(retry), &gate);
    let (engine, events) = load(bare().tool(tool)).await;
    let result = engine.call(call("write_it", json!({"n": 1}))).await;
    until(|| begun.load(Ordering::SeqCst) > 0).await;
    assert_eq!(
        (code(&result), begun.load(Ordering::SeqCst)),
        ("tool.timeout", 1)
    );
    assert_eq!(
        (
            events.named("tool.retried").len(),
            engine.abandoned_threads()
        ),
        (0, 1)
    );
    gate.open();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_layer_cannot_restart_a_body_while_its_abandoned_thread_runs() {
    let gate = Gate::default();
    let (tool, begun) = slow(ToolSpec::new("write_it", "Writes."), &gate);
    let (engine, _) = load(bare().around(Again).tool(tool)).await;
    let result = engine.call(call("write_it", json!({"n": 1}))).await;
    until(|| begun.load(Ordering::SeqCst) > 0).await;
    assert_eq!(
        (code(&result), begun.load(Ordering::SeqCst)),
        ("tool.limit", 1),
        "{}",
        result.text()
    );
    gate.open();
}
