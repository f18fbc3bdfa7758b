//! Middleware before and after a body.

use super::{Log, Marker, Waits};
use crate::support::{bare, call, code, echo, load, numbered};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tool_harness::Control;
use tool_harness::ToolSpec;
use tool_harness::middleware::{Decision, Judged, Middleware, Reply, Seen, Step};
use tool_harness::tool::Inject;

#[tokio::test]
async fn middleware_runs_by_priority_and_each_sees_the_previous_changes() {
    let log = Log::default();
    let builder = bare()
        .middleware(Marker("late", 200, Arc::clone(&log)))
        .middleware(Marker("early", 5, Arc::clone(&log)))
        .tool(echo("echo"));
    let (engine, events) = load(builder).await;
    let result = engine.call(call("echo", json!({"n": 1}))).await;
    assert_eq!(
        result.value,
        Some(json!(300)),
        "two links added one each, and each made it ten times as much"
    );
    assert_eq!(
        *log.lock().expect("log"),
        ["early 1", "late 2", "early after echo", "late after echo"]
    );
    assert_eq!(events.named("hook.decided").len(), 4);
}

/// Gives every call the same decision.
struct Says(Decision, AtomicUsize);

impl Middleware for Says {
    fn name(&self) -> &str {
        "says"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        if matches!(self.0, Decision::Defer(_)) && self.1.fetch_add(1, Ordering::SeqCst) > 0 {
            return Decision::Allow.into();
        }
        self.0.clone().into()
    }
}

#[tokio::test]
async fn middleware_can_refuse_ask_defer_or_end_the_run() {
    for (decision, expected) in [
        (Decision::Allow, ""),
        (Decision::Refuse("not today".into()), "tool.hook.blocked"),
        (Decision::Ask("sure?".into()), "tool.approval.denied"),
        (Decision::Defer(Duration::from_millis(30)), ""),
        (Decision::Defer(Duration::from_secs(1000)), "tool.limit"),
        (
            Decision::Control(Control::Stop("enough".into())),
            "tool.interrupted",
        ),
    ] {
        let (engine, events) = load(
            bare()
                .middleware(Says(decision.clone(), AtomicUsize::new(0)))
                .tool(echo("echo")),
        )
        .await;
        let started = Instant::now();
        let result = engine.call(call("echo", json!({"n": 1}))).await;
        assert_eq!(code(&result), expected, "{decision:?}");
        assert_eq!(events.ends().len(), 1);
        if decision == Decision::Defer(Duration::from_millis(30)) {
            assert!(started.elapsed() >= Duration::from_millis(30));
        }
        match decision {
            Decision::Control(control) => {
                assert_eq!(
                    result.message(),
                    Err(control),
                    "control flow is not a message"
                )
            }
            _ => assert!(result.message().is_ok()),
        }
    }
}

/// Replaces the arguments.
struct Puts(serde_json::Value);

impl Middleware for Puts {
    fn name(&self) -> &str {
        "puts"
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        call.set_arguments(self.0.as_object().cloned().unwrap_or_default());
        Decision::Allow.into()
    }
}

#[tokio::test]
async fn changed_arguments_are_validated_and_authorized_again() {
    let root = "---\npolicy:\n  tool_arg_constraints:\n    - {tool: echo, arg_key: path, arg_patterns: [\"src/**\"]}\n---\n";
    for (arguments, expected) in [
        (json!({"n": 2}), ""),
        (json!({"n": "two"}), "tool.args.invalid_schema"),
        (json!({"n": 2, "path": "etc"}), "tool.denied"),
    ] {
        let (engine, _) = load(
            bare()
                .root(root)
                .middleware(Puts(arguments.clone()))
                .tool(echo("echo")),
        )
        .await;
        assert_eq!(
            code(&engine.call(call("echo", json!({"n": 1}))).await),
            expected,
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn middleware_cannot_set_values_that_the_harness_injects() {
    for (arguments, expected) in [
        (json!({"n": 2}), ""),
        (json!({"n": 2, "who": "eve"}), "tool.args.invalid_schema"),
        (
            json!({"n": 2, "args": {"who": "eve"}}),
            "tool.args.invalid_schema",
        ),
    ] {
        let spec = ToolSpec::new("whose", "Says whose it is.")
            .pure()
            .inject("who", Inject::CallId);
        let (engine, _) = load(
            bare()
                .middleware(Puts(arguments.clone()))
                .tool(numbered(spec, |n| async move { Ok(n) })),
        )
        .await;
        assert_eq!(
            code(&engine.call(call("whose", json!({"n": 1}))).await),
            expected,
            "{arguments}"
        );
    }
}

struct Panics(&'static str);

impl Middleware for Panics {
    fn name(&self) -> &str {
        "panics"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        assert_ne!(self.0, "before", "on purpose");
        match self.0 {
            "before later" => Step::later(async { panic!("on purpose") }),
            _ => Decision::Allow.into(),
        }
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, _: &'a mut Reply<'_>) -> Step<'a, ()> {
        assert_ne!(self.0, "after", "on purpose");
        ().into()
    }
}

#[tokio::test]
async fn middleware_that_panics_lets_nothing_pass() {
    for at in ["before", "before later", "after"] {
        let (engine, events) = load(bare().middleware(Panics(at)).tool(echo("echo"))).await;
        let result = engine.call(call("echo", json!({"n": 1}))).await;
        assert_eq!(
            (code(&result), result.value, events.ends().len()),
            ("tool.hook.failed", None, 1),
            "{at}"
        );
    }
}

#[tokio::test]
async fn a_call_that_middleware_defers_forever_is_refused_after_a_bounded_number_of_events() {
    let (engine, events) = load(bare().middleware(Waits("defer")).tool(echo("echo"))).await;
    let result = engine.call(call("echo", json!({"n": 1}))).await;
    assert_eq!(
        (code(&result), events.ends().len()),
        ("tool.limit", 1),
        "{}",
        result.text()
    );
    assert!(result.text().contains("1000 times"), "{}", result.text());
    assert_eq!(events.named("hook.decided").len(), 1001);
}
