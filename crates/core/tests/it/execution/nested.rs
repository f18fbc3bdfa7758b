//! Nested calls, and what ends a run.

use super::{requests, waits};
use crate::support::{bare, call, code, load, numbered};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tool_harness::Control;
use tool_harness::engine::Ended;
use tool_harness::engine::{ErrorPolicy, Reaction};
use tool_harness::middleware::{Around, Later, Middleware, Next, Reply, Seen, Step};
use tool_harness::tool::{Limits, RetryPolicy};
use tool_harness::{Class, Code};
use tool_harness::{Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

#[tokio::test]
async fn control_flow_is_not_a_message_and_the_policy_says_what_ends_a_run() {
    let tool = numbered(ToolSpec::new("t", "T.").pure(), |n| async move {
        match n {
            0 => Ok(0),
            1 => Err(ToolError::repairable("wrong", "wrong")),
            2 => Err(ToolError::fatal("broken", "broken")),
            _ => Err(ToolError::control(Control::Pause("ask the owner".into()))),
        }
    });
    let (engine, events) = load(bare().tool(tool)).await;
    let turned = |policy: ErrorPolicy, numbers: &[i64]| {
        let run = engine.start(()).error_policy(policy);
        let requests = requests(
            "t",
            numbers
                .iter()
                .map(|n| json!({ "n": n }))
                .collect::<Vec<_>>(),
        );
        async move {
            run.turn()
                .expect("a turn")
                .call(requests)
                .await
                .messages()
                .map(|messages| messages.len())
        }
    };
    assert_eq!(
        turned(ErrorPolicy::default(), &[0, 1, 2]).await,
        Ok(3),
        "failures do not end a run"
    );
    assert_eq!(
        turned(ErrorPolicy::default(), &[0, 9, 1]).await,
        Err(Ended::Control(Control::Pause("ask the owner".into())))
    );
    let strict = ErrorPolicy::default()
        .code(Code::Failed, Reaction::Stop)
        .class(Class::Repairable, Reaction::Stop);
    assert!(
        matches!(turned(strict, &[0, 1]).await, Err(Ended::Failed(refusal)) if refusal.code == Code::Failed)
    );
    assert_eq!(events.ends().len(), 8, "each call still has its last event");
}

/// Calls `stop` and turns the outcome into text.
struct Outer;

impl Tool for Outer {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("outer", "Calls another.").pure()
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(
            runtime.call("stop", json!({"n": 1})).await.text(),
        ))
    }
}

#[tokio::test]
async fn an_enclosing_tool_cannot_swallow_control_flow() {
    let stop = numbered(ToolSpec::new("stop", "Stops.").pure(), |_| async move {
        Err(ToolError::control(Control::Pause("ask the owner".into())))
    });
    let (engine, _) = load(bare().tool(Outer).tool(stop)).await;
    let run = engine.start(());
    let turned = run
        .turn()
        .expect("a turn")
        .call(requests("outer", vec![json!({})]))
        .await;
    assert_eq!(code(&turned.results[0]), "tool.interrupted");
    assert_eq!(
        turned.messages().map(|messages| messages.len()),
        Err(Ended::Control(Control::Pause("ask the owner".into())))
    );
}

/// Calls `stop`, and never ends.
struct Hangs;

impl Tool for Hangs {
    fn spec(&self) -> ToolSpec {
        let retry = RetryPolicy {
            max_attempts: 3,
            initial_backoff_ms: 1,
            max_backoff_ms: 1,
            multiplier: 1.0,
        };
        let spec = ToolSpec::new("hang", "Never ends.")
            .pure()
            .input(crate::support::number_schema());
        spec.timeout(Duration::from_millis(30)).retry(retry)
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        runtime.call("stop", json!({"n": 1})).await;
        std::future::pending().await
    }
}

/// Turns every failure into a result, or retries.
struct Soothes;

impl Middleware for Soothes {
    fn name(&self) -> &str {
        "soothes"
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, answer: &'a mut Reply<'_>) -> Step<'a, ()> {
        if answer.error().is_some() {
            answer.answer(ToolOutput::text("all is well"));
        }
        ().into()
    }
}

impl Around for Soothes {
    fn name(&self) -> &str {
        "soothes"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        mut next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            for _ in 0..3 {
                let _ = next.run().await;
            }
            Ok(ToolOutput::text("all is well"))
        })
    }
}

#[tokio::test]
async fn no_middleware_layer_or_deadline_turns_control_flow_into_a_result() {
    let built = || {
        let stopped = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&stopped);
        let stop = numbered(ToolSpec::new("stop", "Stops.").pure(), move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Err(ToolError::control(Control::Stop("enough".into()))) }
        });
        (bare().tool(Hangs).tool(stop), stopped)
    };
    for (what, tool) in [
        ("nothing", "hang"),
        ("link", "stop"),
        ("link", "hang"),
        ("layer", "stop"),
        ("layer", "hang"),
    ] {
        let (builder, stopped) = built();
        let (engine, events) = load(match what {
            "link" => builder.middleware(Soothes),
            "layer" => builder.around(Soothes),
            _ => builder,
        })
        .await;
        let run = engine.start(());
        let turned = run
            .turn()
            .expect("a turn")
            .call(requests(tool, vec![json!({"n": 1})]))
            .await;
        assert_eq!(
            code(&turned.results[0]),
            "tool.interrupted",
            "{what} {tool}"
        );
        assert_eq!(
            turned.messages().map(|messages| messages.len()),
            Err(Ended::Control(Control::Stop("enough".into()))),
            "{what} {tool}"
        );
        assert_eq!(
            stopped.load(Ordering::SeqCst),
            1,
            "{what} {tool}: nothing starts again"
        );
        assert_eq!(
            events.ends(),
            vec!["tool.failed"; if tool == "hang" { 2 } else { 1 }]
        );
    }
}

/// Calls another tool and waits for its result.
struct Asks(ToolSpec, &'static str);

impl Tool for Asks {
    fn spec(&self) -> ToolSpec {
        self.0.clone().input(crate::support::number_schema())
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let n = arguments["n"].as_i64().unwrap_or(0);
        // Let the other calls begin first.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let (first, second) = tokio::join!(runtime.call(self.1, json!({"n": n - 1})), async {
            match n {
                7 => Some(runtime.call(self.1, json!({"n": 0})).await),
                _ => None,
            }
        });
        let codes: Vec<&str> = std::iter::once(&first).chain(&second).map(code).collect();
        let inner = first
            .value
            .as_ref()
            .and_then(|value| value["codes"].as_array().cloned())
            .unwrap_or_default();
        Ok(ToolOutput::value(json!({"codes": codes, "inner": inner})))
    }
}

#[tokio::test]
async fn a_nested_call_waits_for_a_permit_and_is_refused_only_in_a_deadlock() {
    let one = |name: &str| {
        ToolSpec::new(name, "One at once.").pure().limits(Limits {
            max_concurrency: Some(1),
            ..Limits::default()
        })
    };
    let (slow, most) = waits(one("slow"), Duration::from_millis(60));
    let any = Asks(ToolSpec::new("any", "Calls.").pure(), "slow");
    let few = Asks(one("few"), "slow");
    let (engine, _) = load(bare().max_concurrency(4).tool(slow).tool(any).tool(few)).await;
    for (tool, n, expected) in [
        ("any", 1, json!([""])),
        ("few", 1, json!([""])),
        ("any", 7, json!(["", ""])),
    ] {
        let (other, asked) = tokio::join!(
            engine.call(call("slow", json!({"n": 1}))),
            engine.call(call(tool, json!({"n": n})))
        );
        assert!(
            !other.is_error
                && asked
                    .value
                    .as_ref()
                    .is_some_and(|value| value["codes"] == expected),
            "{tool}: {}",
            asked.text()
        );
    }
    assert_eq!(most.load(Ordering::SeqCst), 1);
    let mut short = call("any", json!({"n": 1}));
    short.timeout = Some(Duration::from_millis(40));
    let (_, asked) = tokio::join!(
        engine.call(call("slow", json!({"n": 1}))),
        engine.call(short)
    );
    // It ends together with the enclosing call, and either may report it.
    assert!(
        asked.text().contains("tool.timeout"),
        "no longer than it has: {}",
        asked.text()
    );
}

#[tokio::test]
async fn nested_calls_never_deadlock() {
    let at_once = |name: &str, most| {
        ToolSpec::new(name, "Calls.").pure().limits(Limits {
            max_concurrency: Some(most),
            ..Limits::default()
        })
    };
    // A tool that calls itself, two that call each other, and one with one of its two permits taken.
    let own = Asks(at_once("own", 1), "own");
    let (here, there) = (
        Asks(at_once("here", 1), "there"),
        Asks(at_once("there", 1), "here"),
    );
    let twice = Asks(at_once("twice", 2), "twice");
    let (engine, _) = load(bare().tool(own).tool(here).tool(there).tool(twice)).await;
    let started = Instant::now();
    let refused = |result: &tool_harness::ToolResult| result.text().contains("tool.limit");
    assert!(refused(&engine.call(call("own", json!({"n": 1}))).await));
    let (one, other) = tokio::join!(
        engine.call(call("here", json!({"n": 1}))),
        engine.call(call("there", json!({"n": 1})))
    );
    assert!(
        refused(&one) || refused(&other),
        "{} {}",
        one.text(),
        other.text()
    );
    let (one, other) = tokio::join!(
        engine.call(call("twice", json!({"n": 1}))),
        engine.call(call("twice", json!({"n": 1})))
    );
    assert!(
        refused(&one) || refused(&other),
        "{} {}",
        one.text(),
        other.text()
    );
    assert!(
        started.elapsed() < crate::support::SOON,
        "{:?}",
        started.elapsed()
    );
}
