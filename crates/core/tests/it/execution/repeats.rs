//! Retries and idempotency keys.

use super::requests;
use crate::support::{bare, call, code, load, numbered};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_harness::Effects;
use tool_harness::tool::{Idempotency, Inject, RetryPolicy};
use tool_harness::{Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

#[tokio::test]
async fn transient_failures_are_retried_only_if_a_repeat_is_safe() {
    let retry = || RetryPolicy {
        max_attempts: 3,
        initial_backoff_ms: 4,
        max_backoff_ms: 20,
        multiplier: 2.0,
    };
    type Error = fn(&str) -> ToolError;
    let retryable: Error = |text| ToolError::retryable("busy", text);
    let repairable: Error = |text| ToolError::repairable("wrong", text);
    for (spec, error, succeeds_at, attempts, expected) in [
        (ToolSpec::new("t", "T.").pure(), retryable, 3, 3, ""),
        (
            ToolSpec::new("t", "T.").pure(),
            retryable,
            9,
            3,
            "tool.failed",
        ),
        (
            ToolSpec::new("t", "T.").pure(),
            repairable,
            2,
            1,
            "tool.failed",
        ),
        (
            ToolSpec::new("t", "T.").effects(Effects::WRITE),
            retryable,
            2,
            1,
            "tool.failed",
        ),
        (
            ToolSpec::new("t", "T.")
                .effects(Effects::WRITE)
                .idempotency(Idempotency::Natural),
            retryable,
            2,
            2,
            "",
        ),
    ] {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&made);
        let tool = numbered(spec.retry(retry()), move |n| {
            let attempt = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                if attempt >= succeeds_at {
                    Ok(n)
                } else {
                    Err(error("no"))
                }
            }
        });
        let (engine, events) = load(bare().tool(tool)).await;
        let result = engine.call(call("t", json!({"n": 1}))).await;
        assert_eq!(
            (
                code(&result),
                made.load(Ordering::SeqCst),
                events.ends().len()
            ),
            (expected, attempts, 1)
        );
        let retried = events.named("tool.retried");
        assert_eq!(
            retried
                .iter()
                .map(|event| event.fields()["attempt"].as_u64())
                .collect::<Vec<_>>(),
            (2..=attempts as u64).map(Some).collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn a_call_cancelled_between_two_attempts_is_cancelled() {
    let retry = RetryPolicy {
        max_attempts: 3,
        initial_backoff_ms: 60_000,
        max_backoff_ms: 60_000,
        multiplier: 1.0,
    };
    let tool = numbered(ToolSpec::new("t", "T.").pure().retry(retry), |_| async {
        Err(ToolError::retryable("busy", "later"))
    });
    let (engine, events) = load(bare().tool(tool)).await;
    let asked = call("t", json!({"n": 1}));
    let token = asked.cancel.clone();
    let (result, ()) = tokio::join!(engine.call(asked), async { token.cancel() });
    assert_eq!(
        (
            code(&result),
            events.named("tool.retried").len(),
            events.ends().len()
        ),
        ("tool.cancelled", 1, 1)
    );
}

#[tokio::test]
async fn a_repeated_key_gets_the_stored_result_even_while_the_first_call_runs() {
    struct Pay(AtomicUsize);
    impl Tool for Pay {
        fn spec(&self) -> ToolSpec {
            let schema = json!({"type": "object", "properties": {"order": {"type": "string"}, "note": {"type": "string"}}, "required": ["order"]});
            ToolSpec::new("pay", "Pays.")
                .effects(Effects::NET_WRITE)
                .input(schema)
                .idempotency(Idempotency::By(vec!["order".into()]))
                .inject("key", Inject::IdempotencyKey)
        }
        async fn call(
            &self,
            (): &(),
            _: ToolRuntime<'_>,
            arguments: Map<String, Value>,
        ) -> Result<ToolOutput, ToolError> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let paid = self.0.fetch_add(1, Ordering::SeqCst);
            if arguments["order"] == "bad" {
                return Err(ToolError::retryable("down", "the bank is down"));
            }
            Ok(ToolOutput::value(
                json!({"paid": paid, "key": arguments["key"]}),
            ))
        }
    }
    let (engine, _) = load(bare().tool(Pay(AtomicUsize::new(0)))).await;
    let run = engine.start(());
    let sent = ["a", "a", "b"].map(|order| json!({"order": order, "note": order.repeat(2)}));
    let results = run
        .turn()
        .expect("a turn")
        .call(requests("pay", sent))
        .await
        .results;
    assert_eq!(results[0].value, results[1].value);
    assert_ne!(results[0].value, results[2].value);
    assert_eq!(
        (
            results[0].metadata.get("repeated"),
            results[1].metadata.get("repeated")
        ),
        (None, Some(&json!(true)))
    );
    let again = engine
        .call(call(
            "pay",
            json!({"order": "a", "note": "another session"}),
        ))
        .await;
    assert_eq!(again.value, results[0].value);
    for _ in 0..2 {
        assert_eq!(
            code(&engine.call(call("pay", json!({"order": "bad"}))).await),
            "tool.failed",
            "a failure is not stored"
        );
    }
}
