//! Layers around a body.

use super::{Log, Marker, Waits};
use crate::support::{SOON, bare, call, code, echo, load, numbered};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tool_harness::Class;
use tool_harness::middleware::{Around, Later, Next, Seen};
use tool_harness::{ToolError, ToolOutput, ToolRequest, ToolSpec};

#[tokio::test]
async fn middleware_that_never_ends_holds_no_call_beyond_its_deadline() {
    for at in ["before", "defer", "after", "around", "nowhere"] {
        let (engine, events) = load(
            bare()
                .middleware(Waits(at))
                .around(Waits(at))
                .tool(echo("echo")),
        )
        .await;
        let mut timed = call("echo", json!({"n": 1}));
        timed.timeout = Some(Duration::from_millis(60));
        let started = Instant::now();
        let result = engine.call(timed).await;
        let expected = match at {
            "nowhere" => "",
            "defer" => "tool.limit",
            _ => "tool.timeout",
        };
        assert_eq!(
            (code(&result), events.ends().len()),
            (expected, 1),
            "{at}: {}",
            result.text()
        );
        let cancelled = call("echo", json!({"n": 1}));
        let cancel = cancelled.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(60)).await;
            cancel.cancel();
        });
        if !["defer", "nowhere"].contains(&at) {
            assert_eq!(
                code(&engine.call(cancelled).await),
                "tool.cancelled",
                "{at}"
            );
        }
        assert!(started.elapsed() < SOON, "{at}: {:?}", started.elapsed());
    }
    let capped = numbered(
        ToolSpec::new("capped", "Has a cap.")
            .pure()
            .timeout(Duration::from_millis(60)),
        |n| async move { Ok(n) },
    );
    let (engine, _) = load(bare().middleware(Waits("defer")).tool(capped)).await;
    assert_eq!(
        code(&engine.call(call("capped", json!({"n": 1}))).await),
        "tool.limit"
    );
}

/// Retries up to this often, or answers itself.
struct Tries(usize);

impl Around for Tries {
    fn name(&self) -> &str {
        "tries"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        mut next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.0 == 0 {
                return Ok(ToolOutput::value(next.arguments()["n"].clone()));
            }
            for _ in 1..self.0 {
                if let Ok(output) = next.run().await {
                    return Ok(output);
                }
            }
            next.finish().await
        })
    }
}

#[tokio::test]
async fn a_layer_can_retry_or_answer_and_its_result_is_checked_against_the_schema() {
    for (tries, succeeds_at, attempts, expected) in
        [(3, 3, 3, ""), (2, 3, 2, "tool.failed"), (0, 1, 0, "")]
    {
        let made = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&made);
        let flaky = numbered(ToolSpec::new("flaky", "Fails at first.").pure(), move |n| {
            let attempt = counted.fetch_add(1, Ordering::SeqCst) + 1;
            async move {
                if attempt >= succeeds_at {
                    Ok(n)
                } else {
                    Err(ToolError::repairable("not_yet", "not yet"))
                }
            }
        });
        let (engine, events) = load(bare().around(Tries(tries)).tool(flaky)).await;
        let result = engine.call(call("flaky", json!({"n": 4}))).await;
        assert_eq!(
            (code(&result), made.load(Ordering::SeqCst)),
            (expected, attempts),
            "{}",
            result.text()
        );
        assert_eq!(
            events.named("tool.retried").len(),
            attempts.saturating_sub(1),
            "retries are recorded"
        );
    }
}

/// Rewords a failure.
struct Rewords(fn(&mut ToolError), Log);

impl Around for Rewords {
    fn name(&self) -> &str {
        "rewords"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            next.finish().await.map_err(|mut error| {
                let details = serde_json::Value::Object(error.details.clone());
                self.1
                    .lock()
                    .expect("log")
                    .push(format!("{} {} {details}", error.code, error.class));
                (self.0)(&mut error);
                error
            })
        })
    }
}

#[tokio::test]
async fn a_layer_sees_the_code_and_details_of_a_failure_and_can_change_them() {
    let busy = || {
        numbered(ToolSpec::new("ask", "Asks.").pure(), |n| async move {
            match n {
                0 => Err(ToolError::retryable("busy", "try later").detail("after_ms", 50)),
                _ => panic!("it has no code"),
            }
        })
    };
    let rewords: [(fn(&mut ToolError), _); 5] = [
        (
            |_| (),
            json!({"class": "retryable", "message": "`ask` failed: try later", "details": {"code": "busy", "after_ms": 50}}),
        ),
        (
            |error| error.class = Class::Fatal,
            json!({"class": "fatal", "message": "`ask` failed: try later", "details": {"code": "busy", "after_ms": 50}}),
        ),
        (
            |error| error.message = "the shop is closed".into(),
            json!({"class": "retryable", "message": "the shop is closed", "details": {"code": "busy", "after_ms": 50}}),
        ),
        (
            |error| error.code = "closed".into(),
            json!({"class": "retryable", "message": "`ask` failed: try later", "details": {"code": "closed", "after_ms": 50}}),
        ),
        (
            |error| error.details.clear(),
            json!({"class": "retryable", "message": "`ask` failed: try later", "details": {"code": "busy"}}),
        ),
    ];
    for (reword, mut expected) in rewords {
        let log = Log::default();
        let (engine, _) = load(
            bare()
                .around(Rewords(reword, Arc::clone(&log)))
                .tool(busy()),
        )
        .await;
        let result = engine.call(call("ask", json!({"n": 0}))).await;
        expected["code"] = json!("tool.failed");
        assert_eq!(result.to_json()["error"], expected);
        assert_eq!(
            *log.lock().expect("log"),
            [r#"busy retryable {"after_ms":50}"#]
        );
    }
    let log = Log::default();
    let (engine, _) = load(
        bare()
            .around(Rewords(
                |error| error.code = "closed".into(),
                Arc::clone(&log),
            ))
            .tool(busy()),
    )
    .await;
    let result = engine.call(call("ask", json!({"n": 1}))).await;
    assert_eq!(
        (code(&result), &result.to_json()["error"]["details"]),
        ("tool.failed", &json!({"code": "closed"}))
    );
    assert_eq!(*log.lock().expect("log"), ["tool.failed repairable {}"]);
}

#[tokio::test]
async fn middleware_does_not_serialize_calls() {
    // Each call waits for all four.
    let together = Arc::new(tokio::sync::Barrier::new(4));
    let slow = numbered(ToolSpec::new("slow", "Waits.").pure(), move |n| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            Ok(n)
        }
    });
    let log = Log::default();
    let (engine, _) = load(
        bare()
            .around(Tries(1))
            .middleware(Marker("m", 1, log))
            .tool(slow),
    )
    .await;
    let run = engine.start(());
    let requests = (0..4)
        .map(|n| ToolRequest::new(format!("c{n}"), "slow", json!({"n": n})))
        .collect();
    let turn = run.turn().expect("a turn");
    let turned = tokio::time::timeout(SOON, turn.call(requests))
        .await
        .expect("no call waits for another");
    assert!(turned.results.iter().all(|result| !result.is_error));
}
