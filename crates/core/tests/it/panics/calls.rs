//! Tools and middleware panic.

use super::{Boom, Panics, fails};
use crate::support::{Gate, Number, bare, call, code, echo, load, until};
use serde_json::{Map, Value, json};
use std::panic::panic_any;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tool_harness::tool::{Inject, blocking};
use tool_harness::{Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec};

/// A future that panics on drop, finished or not.
struct Ends {
    is_done: bool,
    _boom: Boom,
}

impl Future for Ends {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.is_done {
            Poll::Ready(Ok(ToolOutput::text("done")))
        } else {
            Poll::Pending
        }
    }
}

/// A tool whose future panics on drop.
struct Dropped(&'static str, bool);

impl Tool for Dropped {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0, "Panics at its end.")
            .pure()
            .timeout(Duration::from_millis(30))
            .input(json!({"type": "object"}))
    }

    fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        Ends {
            is_done: self.1,
            _boom: Boom,
        }
    }
}

/// Panics with a payload that panics on drop.
struct Payload(&'static str);

impl Tool for Payload {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0, "Panics with a bomb.")
            .pure()
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        tokio::task::yield_now().await;
        panic_any(Boom)
    }
}

#[tokio::test]
async fn a_future_or_payload_that_panics_on_drop_fails_only_its_call() {
    let (engine, events) = load(
        bare()
            .tool(Dropped("ready", true))
            .tool(Dropped("late", false))
            .tool(Payload("payload")),
    )
    .await;
    fails(&engine, &events, "ready", "tool.failed").await;
    fails(&engine, &events, "late", "tool.timeout").await;
    fails(&engine, &events, "payload", "tool.failed").await;
    let cancelled = call("late", json!({}));
    let token = cancelled.cancel.clone();
    tokio::spawn(async move { token.cancel() });
    assert_eq!(code(&engine.call(cancelled).await), "tool.cancelled");
    let _ = tokio::time::timeout(
        Duration::from_millis(5),
        engine.call(call("late", json!({}))),
    )
    .await;
    assert_eq!(events.ends(), vec!["tool.failed"; 5]);
}

#[tokio::test]
async fn a_thread_whose_panic_payload_panics_is_counted_only_while_it_runs() {
    let spec = |name: &str| ToolSpec::new(name, "Panics with a bomb.").pure();
    let gate = Gate::default();
    let held = gate.clone();
    let late = blocking(
        spec("late").timeout(Duration::from_millis(30)),
        move |_: Number| -> Result<i64, ToolError> {
            held.pass();
            panic_any(Boom)
        },
    );
    let soon = blocking(spec("soon"), |_: Number| -> Result<i64, ToolError> {
        panic_any(Boom)
    });
    let (engine, events) = load(bare().tool(late).tool(soon)).await;
    let result = engine.call(call("soon", json!({"n": 1}))).await;
    assert!(
        code(&result) == "tool.failed" && result.text().contains("panicked"),
        "{}",
        result.text()
    );
    assert_eq!(engine.abandoned_threads(), 0);
    assert_eq!(
        code(&engine.call(call("late", json!({"n": 1}))).await),
        "tool.timeout"
    );
    assert_eq!(engine.abandoned_threads(), 1);
    gate.open();
    until(|| engine.abandoned_threads() == 0).await;
    assert_eq!(events.ends().len(), 2);
}

/// Takes an injected value.
struct Takes;

impl Tool for Takes {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("take", "Takes it.")
            .pure()
            .input(json!({"type": "object"}))
            .inject("user", Inject::Host("user".into()))
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

#[tokio::test]
async fn an_injector_may_panic() {
    let (engine, events) = load(bare().tool(Takes).inject("user", |_| panic_any(Boom))).await;
    fails(&engine, &events, "take", "internal").await;
    let message = engine.call(call("take", json!({}))).await.text();
    assert!(
        message.contains("`user`") && message.contains("panicked"),
        "{message}"
    );
}

#[tokio::test]
async fn middleware_and_layers_may_panic_in_any_method() {
    for (place, expected) in [
        ("nowhere", ""),
        ("before", "tool.hook.failed"),
        ("before later", "tool.hook.failed"),
        ("before dropped", "tool.timeout"),
        ("after", "tool.hook.failed"),
        ("after later", "tool.hook.failed"),
        ("around", "tool.hook.failed"),
        ("around later", "tool.hook.failed"),
        ("around dropped", "tool.timeout"),
    ] {
        let (engine, events) = load(
            bare()
                .tool(echo("echo"))
                .middleware(Panics(place))
                .around(Panics(place)),
        )
        .await;
        let mut call = call("echo", json!({"n": 1}));
        call.timeout = Some(Duration::from_millis(50));
        let result = engine.call(call).await;
        assert_eq!(
            (code(&result), events.ends().len()),
            (expected, 1),
            "{place}: {}",
            result.text()
        );
    }
}

#[tokio::test]
async fn a_tool_whose_offer_panics_is_not_offered_and_an_event_says_so() {
    let (engine, events) = load(
        bare()
            .tool(echo("echo"))
            .tool(echo("other"))
            .middleware(Panics("offers")),
    )
    .await;
    let run = engine.start(());
    let turn = run.turn().expect("a turn");
    let names: Vec<&str> = turn
        .surface()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert!(
        !names.contains(&"echo") && names.contains(&"other"),
        "{names:?}"
    );
    let results = turn
        .call(vec![
            ToolRequest::new("c1", "echo", json!({"n": 1})),
            ToolRequest::new("c2", "other", json!({"n": 1})),
        ])
        .await
        .results;
    assert_eq!(
        (code(&results[0]), code(&results[1])),
        ("tool.not_advertised", "")
    );
    let said = events.named("hook.decided");
    assert_eq!(
        (
            said.len(),
            &said[0].fields()["hook"],
            &said[0].fields()["action"]
        ),
        (1, &json!("panics"), &json!("failed"))
    );
    let child = run.child((), |tool| {
        if tool.name == "other" {
            panic_any(Boom)
        } else {
            true
        }
    });
    assert!(
        child
            .turn()
            .expect("a turn")
            .surface()
            .tools
            .iter()
            .all(|tool| tool.name != "other")
    );
}
