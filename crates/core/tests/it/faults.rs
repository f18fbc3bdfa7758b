//! Tools that misbehave: each call ends once, in time, and the next one works.

use crate::support::{Gate, Number, SOON, bare, call, code, echo, load, numbered, until};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tool_harness::tool::{blocking, function};
use tool_harness::{Call, ToolOutput, ToolRuntime, ToolSpec};
use tool_harness::{Tool, ToolError};

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "Misbehaves.").pure()
}

/// The longest time after its limit until a call ends, on an idle machine.
const GRACE: Duration = Duration::from_millis(250);

/// Ends a call after 30 ms in one of three ways; returns how late and how it ended.
async fn ended(engine: &tool_harness::Engine, tool: &str, how: &str) -> (Duration, &'static str) {
    let limit = Duration::from_millis(30);
    let mut made: Call = call(tool, json!({"n": 1}));
    if how == "caller" {
        made.timeout = Some(limit);
    }
    let cancel = made.cancel.clone();
    let started = Instant::now();
    if how == "cancel" {
        tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            cancel.cancel();
        });
    }
    let result = engine.call(made).await;
    (started.elapsed().saturating_sub(limit), code(&result))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deadline_and_cancellation_end_a_call_whether_its_tool_listens_or_not() {
    let (limit, gate) = (Duration::from_millis(30), Gate::default());
    let (held, free_held) = (gate.clone(), gate.clone());
    let never = numbered(spec("never").timeout(limit), |_| std::future::pending());
    let deaf = blocking(spec("deaf").timeout(limit), move |_: Number| {
        held.pass();
        Ok(1)
    });
    let free_never = numbered(spec("free_never"), |_| std::future::pending());
    let free_deaf = blocking(spec("free_deaf"), move |_: Number| {
        free_held.pass();
        Ok(1)
    });
    let (engine, events) = load(
        bare()
            .tool(never)
            .tool(deaf)
            .tool(free_never)
            .tool(free_deaf)
            .tool(echo("echo")),
    )
    .await;
    let mut soonest = Duration::MAX;
    for (tool, how, expected) in [
        ("never", "tool", "tool.timeout"),
        ("deaf", "tool", "tool.timeout"),
        ("free_never", "caller", "tool.timeout"),
        ("free_deaf", "caller", "tool.timeout"),
        ("free_never", "cancel", "tool.cancelled"),
        ("free_deaf", "cancel", "tool.cancelled"),
    ] {
        let (late, code) = ended(&engine, tool, how).await;
        assert_eq!(code, expected, "{tool} {how}");
        assert!(late < SOON, "{tool} {how}: {late:?} late");
        soonest = soonest.min(late);
    }
    assert!(soonest < GRACE, "{soonest:?} late");
    assert_eq!(engine.abandoned_threads(), 3);
    assert!(!engine.call(call("echo", json!({"n": 1}))).await.is_error);
    gate.open();
    // Threads that have ended are not counted.
    until(|| engine.abandoned_threads() == 0).await;
    assert_eq!(
        events.ends(),
        [vec!["tool.failed"; 6], vec!["tool.completed"]].concat()
    );
}

#[tokio::test]
async fn a_panic_ends_its_call_and_nothing_else() {
    let at_once = function(
        spec("at_once"),
        |_: Number| -> std::future::Ready<Result<i64, ToolError>> { panic!("on purpose") },
    );
    let later = numbered(spec("later"), |_| async {
        tokio::task::yield_now().await;
        panic!("on purpose")
    });
    let on_thread = blocking(spec("on_thread"), |_: Number| -> Result<i64, ToolError> {
        panic!("on purpose")
    });
    let (engine, events) = load(
        bare()
            .tool(at_once)
            .tool(later)
            .tool(on_thread)
            .tool(echo("echo")),
    )
    .await;
    for tool in ["at_once", "later", "on_thread"] {
        let result = engine.call(call(tool, json!({"n": 1}))).await;
        assert!(
            code(&result) == "tool.failed" && result.text().contains("panicked"),
            "{tool}: {}",
            result.text()
        );
    }
    assert!(!engine.call(call("echo", json!({"n": 1}))).await.is_error);
    assert_eq!(events.ends().len(), 4);
}

/// Emits events after its call is over.
struct Late(Gate);

impl Tool for Late {
    fn spec(&self) -> ToolSpec {
        spec("late")
            .timeout(Duration::from_millis(300))
            .blocking()
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        runtime.progress(0.1, "in time");
        self.0.pass();
        runtime.progress(0.9, "late");
        runtime.emit("late", &json!(1));
        drop(runtime.keep("late", "text/plain").await?);
        Ok(ToolOutput::default())
    }
}

#[tokio::test]
async fn no_event_follows_the_end_of_a_call_and_dropped_ones_are_counted() {
    let gate = Gate::default();
    let (engine, events) = load(bare().tool(Late(gate.clone()))).await;
    assert_eq!(
        code(&engine.call(call("late", json!({}))).await),
        "tool.timeout"
    );
    gate.open();
    until(|| engine.abandoned_threads() == 0).await;
    let names: Vec<String> = events
        .all()
        .into_iter()
        .map(|event| event.name().to_owned())
        .collect();
    assert_eq!(names, ["tool.started", "tool.progress", "tool.failed"]);
    assert_eq!(engine.missed_events(), 3);
}

/// Returns a value that does not match the schema, or is not JSON.
struct Wrong;

impl Tool for Wrong {
    fn spec(&self) -> ToolSpec {
        spec("wrong")
            .input(json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
            .output(json!({"type": "object", "required": ["x"]}))
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(if arguments["n"] == 1 {
            ToolOutput::value(json!({"y": 1}))
        } else {
            ToolOutput::text("words")
        })
    }
}

/// A value that cannot be JSON: its keys are not strings.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Strange {
    #[schemars(with = "String")]
    map: std::collections::BTreeMap<Vec<u8>, u8>,
}

#[tokio::test]
async fn a_result_that_does_not_match_its_schema_or_is_not_json_is_an_error() {
    let strange = function(spec("strange"), |_: Number| async {
        Ok(Strange {
            map: [(vec![1], 2)].into(),
        })
    });
    let (engine, events) = load(bare().tool(Wrong).tool(strange)).await;
    for (tool, n, expected) in [
        ("wrong", 1, "tool.output.invalid_schema"),
        ("wrong", 2, "tool.output.invalid_schema"),
        ("strange", 1, "tool.failed"),
    ] {
        let result = engine.call(call(tool, json!({ "n": n }))).await;
        assert_eq!(
            (code(&result), result.value.is_none()),
            (expected, true),
            "{tool} {n}: {}",
            result.text()
        );
    }
    assert_eq!(events.ends(), vec!["tool.failed"; 3]);
}

#[tokio::test]
async fn an_abandoned_call_gets_its_last_event_and_its_tool_is_cancelled() {
    struct Spawns(Arc<AtomicBool>);
    impl Tool for Spawns {
        fn spec(&self) -> ToolSpec {
            spec("spawns").input(json!({"type": "object"}))
        }
        async fn call(
            &self,
            (): &(),
            runtime: ToolRuntime<'_>,
            _: Map<String, Value>,
        ) -> Result<ToolOutput, ToolError> {
            let (over, told) = (runtime.cancellation(), Arc::clone(&self.0));
            tokio::spawn(async move {
                over.cancelled().await;
                told.store(true, Ordering::SeqCst);
            });
            std::future::pending().await
        }
    }
    let told = Arc::new(AtomicBool::new(false));
    let (engine, events) = load(bare().tool(Spawns(Arc::clone(&told)))).await;
    let _ = tokio::time::timeout(
        Duration::from_millis(20),
        engine.call(call("spawns", json!({}))),
    )
    .await;
    until(|| told.load(Ordering::SeqCst)).await;
    assert_eq!(events.ends(), ["tool.failed"]);
    assert_eq!(
        events.named("tool.failed")[0].fields()["code"],
        "tool.cancelled"
    );
}

/// Calls another tool for each call that ends, and waits for it.
struct Calls {
    engine: std::sync::OnceLock<(tool_harness::Engine, tokio::runtime::Handle)>,
}

impl tool_harness::event::Sink for Calls {
    fn record(&self, event: &tool_harness::event::EventRef<'_>) {
        let Some((engine, runtime)) = self.engine.get() else {
            return;
        };
        if matches!(event.kind(), tool_harness::event::EventKind::ToolCompleted { tool, .. } if tool == "first")
        {
            runtime.block_on(engine.call(call("second", json!({"n": 1}))));
        }
    }

    fn delivery(&self) -> tool_harness::event::Delivery {
        tool_harness::event::Delivery::Waiting
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_waiting_sink_may_call_tools_itself() {
    let sink = Arc::new(Calls {
        engine: std::sync::OnceLock::new(),
    });
    let builder = bare()
        .sink(Arc::clone(&sink) as Arc<dyn tool_harness::event::Sink>)
        .tool(echo("first"))
        .tool(echo("second"));
    let engine = builder.load().await.expect("an engine");
    assert!(
        sink.engine
            .set((engine.clone(), tokio::runtime::Handle::current()))
            .is_ok()
    );
    let calls = (0..4).map(|_| {
        let engine = engine.clone();
        tokio::spawn(async move {
            for n in 0..1000 {
                engine.call(call("first", json!({"n": n}))).await;
            }
        })
    });
    let all = async {
        for call in calls.collect::<Vec<_>>() {
            call.await.expect("done")
        }
    };
    tokio::time::timeout(Duration::from_secs(60), all)
        .await
        .expect("the calls do not deadlock");
}

/// Blocks, and calls a tool that does.
struct Outer;

impl Tool for Outer {
    fn spec(&self) -> ToolSpec {
        spec("outer").input(json!({"type": "object"})).blocking()
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let inner = runtime.call("inner", json!({"n": 1})).await;
        Ok(ToolOutput::value(!inner.is_error))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nested_blocking_tools_do_not_starve_each_other_of_threads() {
    let inner = blocking(spec("inner"), |_: Number| Ok(1));
    let (engine, _) = load(bare().tool(Outer).tool(inner)).await;
    let calls: Vec<_> = (0..300)
        .map(|_| engine.call(call("outer", json!({}))))
        .collect();
    let started = Instant::now();
    let results = tokio::time::timeout(Duration::from_secs(60), all_at_once(calls))
        .await
        .expect("no call starves");
    assert!(
        results
            .iter()
            .all(|result| result.value == Some(json!(true))),
        "{:?}",
        started.elapsed()
    );
}

/// All futures, concurrently.
async fn all_at_once(
    calls: Vec<impl Future<Output = tool_harness::ToolResult>>,
) -> Vec<tool_harness::ToolResult> {
    let mut calls: Vec<_> = calls.into_iter().map(Box::pin).collect();
    let mut results: Vec<Option<tool_harness::ToolResult>> = calls.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (call, result) in calls.iter_mut().zip(&mut results) {
            if result.is_none()
                && let std::task::Poll::Ready(done) = call.as_mut().poll(cx)
            {
                *result = Some(done);
            }
        }
        if results.iter().all(Option::is_some) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    results.into_iter().flatten().collect()
}
