//! How many calls run at once, and how many in total.

use super::{numbers, requests, waits};
use crate::support::{Gate, bare, call, code, echo, load, numbered, until};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tool_harness::Effects;
use tool_harness::store::StoreScope;
use tool_harness::tool::{Idempotency, Limits, RetryPolicy, blocking};
use tool_harness::{Run, Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_of_one_turn_run_eight_at_a_time_and_answer_in_order() {
    let time = Duration::from_millis(20);
    let (tool, most) = waits(ToolSpec::new("wait", "Waits.").pure(), time);
    let (engine, _) = load(bare().tool(tool)).await;
    let run = engine.start(()).max_concurrency(8);
    let started = Instant::now();
    let turned = run
        .turn()
        .expect("a turn")
        .call(requests("wait", numbers(1000)))
        .await;
    let took = started.elapsed();
    let values: Vec<i64> = turned
        .results
        .iter()
        .filter_map(|result| result.value.as_ref()?.as_i64())
        .collect();
    assert_eq!(
        (values, most.load(Ordering::SeqCst)),
        ((0..1000).collect(), 8)
    );
    // The benchmark shows that it takes little longer: a busy machine has no upper bound.
    assert!(took >= time * 125, "{took:?}");
}

#[tokio::test]
async fn tool_key_and_engine_limits_are_enforced() {
    let wait = |spec: ToolSpec| waits(spec, Duration::from_millis(5));
    let limits = Limits {
        max_concurrency: Some(2),
        ..Limits::default()
    };
    let (tool, most) = wait(ToolSpec::new("wait", "Waits.").pure().limits(limits));
    let (engine, _) = load(bare().tool(tool)).await;
    engine
        .start(())
        .turn()
        .expect("a turn")
        .call(requests("wait", numbers(12)))
        .await;
    assert_eq!(most.load(Ordering::SeqCst), 2, "of a tool");

    let (tool, most) = wait(ToolSpec::new("wait", "Waits.").pure().serial_by(["n"]));
    let (engine, _) = load(bare().tool(tool)).await;
    let run = engine.start(());
    run.turn()
        .expect("a turn")
        .call(requests("wait", (0..12).map(|_| json!({"n": 1}))))
        .await;
    assert_eq!(most.swap(0, Ordering::SeqCst), 1, "of one value");
    let others: Vec<ToolRequest> = (0..6)
        .map(|n| ToolRequest::new(format!("o{n}"), "wait", json!({"n": n})))
        .collect();
    run.turn().expect("a turn").call(others).await;
    assert!(most.load(Ordering::SeqCst) > 1, "other values do not wait");

    let (tool, most) = wait(ToolSpec::new("wait", "Waits.").pure());
    let (engine, _) = load(bare().max_concurrency(3).tool(tool)).await;
    engine
        .start(())
        .turn()
        .expect("a turn")
        .call(requests("wait", numbers(12)))
        .await;
    assert_eq!(most.load(Ordering::SeqCst), 3, "of the engine");
}

#[tokio::test]
async fn two_calls_never_write_the_same_path_at_once() {
    struct Write(Arc<AtomicUsize>, Arc<AtomicUsize>);
    impl Tool for Write {
        fn spec(&self) -> ToolSpec {
            let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
            ToolSpec::new("write_it", "Writes.")
                .effects(Effects::READ | Effects::WRITE)
                .input(schema)
                .path_param("path")
        }
        async fn call(
            &self,
            (): &(),
            _: ToolRuntime<'_>,
            _: Map<String, Value>,
        ) -> Result<ToolOutput, ToolError> {
            self.1
                .fetch_max(self.0.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            self.0.fetch_sub(1, Ordering::SeqCst);
            Ok(ToolOutput::default())
        }
    }
    for (paths, expected) in [(["a/b", "./a//b", "a/c/../b"], 1), (["a", "b", "c"], 3)] {
        let most = Arc::new(AtomicUsize::new(0));
        let (engine, _) = load(bare().tool(Write(Arc::default(), Arc::clone(&most)))).await;
        engine
            .start(())
            .turn()
            .expect("a turn")
            .call(requests(
                "write_it",
                paths.map(|path| json!({ "path": path })),
            ))
            .await;
        assert_eq!(most.load(Ordering::SeqCst), expected, "{paths:?}");
    }
}

#[tokio::test]
async fn if_three_of_five_calls_are_allowed_three_run_and_two_are_refused() {
    let per_tool = numbered(
        ToolSpec::new("few", "Few.").pure().limits(Limits {
            max_calls: Some(3),
            ..Limits::default()
        }),
        |n| async move { Ok(n) },
    );
    let (engine, events) = load(bare().tool(echo("echo")).tool(per_tool)).await;
    let runs = [
        engine.start(()).max_calls(3),
        engine.start(()).max_calls_in_turn(3),
        engine.start(()),
    ];
    for (run, tool) in runs.iter().zip(["echo", "echo", "few"]) {
        let turned = run
            .turn()
            .expect("a turn")
            .call(requests(tool, numbers(5)))
            .await;
        let codes: Vec<&str> = turned.results.iter().map(code).collect();
        assert_eq!(codes, ["", "", "", "tool.limit", "tool.limit"], "{tool}");
        assert_eq!(
            turned.messages().map(|messages| messages.len()),
            Ok(5),
            "every call is answered and the run goes on"
        );
    }
    let next = runs[1]
        .turn()
        .expect("a turn")
        .call(vec![ToolRequest::new("n", "echo", json!({"n": 1}))])
        .await;
    assert!(!next.results[0].is_error, "a new turn starts from zero");
    let next = runs[0]
        .turn()
        .expect("a turn")
        .call(vec![ToolRequest::new("n", "echo", json!({"n": 1}))])
        .await;
    assert_eq!(code(&next.results[0]), "tool.limit", "a run does not");
    assert_eq!(events.ends().len(), 17);
}

#[tokio::test]
async fn with_several_limits_each_counts_only_calls_that_ran() {
    let limits = Limits {
        max_calls: Some(5),
        ..Limits::default()
    };
    let few = numbered(
        ToolSpec::new("few", "Few.").pure().limits(limits),
        |n| async move { Ok(n) },
    );
    let (engine, _) = load(bare().tool(few).tool(echo("echo"))).await;
    let parent = engine.start(()).max_calls(8).max_calls_in_turn(3);
    let child = parent.child((), |_| true).max_calls(6);
    async fn ran(run: &Run, turn: usize, tool: &str) -> usize {
        let sent = (0..5)
            .map(|n| ToolRequest::new(format!("{turn}-{n}"), tool, json!({"n": n})))
            .collect();
        run.turn()
            .expect("a turn")
            .call(sent)
            .await
            .results
            .iter()
            .filter(|result| !result.is_error)
            .count()
    }
    assert_eq!(ran(&child, 1, "few").await, 3, "of a turn");
    assert_eq!(
        ran(&child, 2, "few").await,
        2,
        "of the tool, which counted three"
    );
    assert_eq!(
        ran(&child, 3, "echo").await,
        1,
        "of the child, which counted five"
    );
    assert_eq!(ran(&parent, 4, "few").await, 0, "of the tool");
    assert_eq!(
        ran(&parent, 5, "echo").await,
        2,
        "of the parent, which counted six"
    );
    assert_eq!(ran(&parent, 6, "echo").await, 0);
}

#[tokio::test]
async fn a_run_keeps_its_session_and_limits_beside_other_runs() {
    struct Counts;
    impl Tool for Counts {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("count", "Counts.")
                .pure()
                .input(json!({"type": "object"}))
        }
        async fn call(
            &self,
            (): &(),
            runtime: ToolRuntime<'_>,
            _: Map<String, Value>,
        ) -> Result<ToolOutput, ToolError> {
            let up = |scope| {
                let store = runtime.store(scope);
                let next = store.get("n").and_then(|n| n.as_u64()).unwrap_or(0) + 1;
                store
                    .set("n", json!(next))
                    .map(|()| next)
                    .map_err(|error| ToolError::fatal("full", error))
            };
            Ok(ToolOutput::value(json!([
                up(StoreScope::Session)?,
                up(StoreScope::Run)?
            ])))
        }
    }
    let limits = Limits {
        max_calls: Some(2),
        ..Limits::default()
    };
    let few = numbered(
        ToolSpec::new("few", "Few.").pure().limits(limits),
        |n| async move { Ok(n) },
    );
    let (engine, _) = load(bare().tool(Counts).tool(few)).await;
    let run = engine.start(()).session("mine");
    let mut given = Vec::new();
    for turn in 0..3 {
        let sent = ["count", "few"]
            .map(|tool| ToolRequest::new(format!("{tool} {turn}"), tool, json!({"n": 1})));
        let results = run.turn().expect("a turn").call(sent.into()).await.results;
        given.push((results[0].value.clone(), code(&results[1])));
        for _ in 0..20 {
            engine.call(call("count", json!({})).session("mine")).await;
        }
        for _ in 0..1500 {
            engine.call(call("count", json!({}))).await;
        }
    }
    let counted = |session: u64, run: u64| Some(json!([session, run]));
    assert_eq!(
        given,
        [
            (counted(1, 1), ""),
            (counted(22, 2), ""),
            (counted(43, 3), "tool.limit")
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_that_block_do_not_stall_others() {
    let (gate, blocked) = (Gate::default(), Arc::<AtomicUsize>::default());
    let (held, counted) = (gate.clone(), Arc::clone(&blocked));
    let block = blocking(
        ToolSpec::new("block", "Blocks.").pure(),
        move |input: crate::support::Number| {
            counted.fetch_add(1, Ordering::SeqCst);
            if held.pass() {
                Ok(input.n)
            } else {
                Err(ToolError::fatal("stalled", "the gate stayed closed"))
            }
        },
    );
    let (engine, events) = load(bare().tool(block).tool(echo("echo"))).await;
    let run = engine.start(());
    let turn = run.turn().expect("a turn");
    let mut all = requests("block", numbers(6));
    all.push(ToolRequest::new("quick", "echo", json!({"n": 1})));
    let (turned, ()) = tokio::join!(turn.call(all), async {
        // Six block at once, and the seventh call ends in the meantime.
        until(|| blocked.load(Ordering::SeqCst) == 6 && !events.ends().is_empty()).await;
        gate.open();
    });
    assert!(turned.results.iter().all(|result| !result.is_error));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abandoned_thread_keeps_its_permit_until_it_ends() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Write {
        path: String,
    }
    let retry = RetryPolicy {
        max_attempts: 4,
        initial_backoff_ms: 1,
        max_backoff_ms: 1,
        multiplier: 1.0,
    };
    let writes = ToolSpec::new("write", "Writes.")
        .effects(Effects::READ | Effects::WRITE)
        .path_param("path")
        .retry(retry);
    let counts = ToolSpec::new("count", "Counts.").pure().limits(Limits {
        max_concurrency: Some(2),
        ..Limits::default()
    });
    for spec in [writes.idempotency(Idempotency::Natural), counts] {
        let (name, is_limited) = (spec.name.clone(), spec.limits.max_concurrency.is_some());
        let (now, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (at_work, highest) = (Arc::clone(&now), Arc::clone(&most));
        let gate = Gate::default();
        let held = gate.clone();
        let slow = blocking(
            spec.timeout(Duration::from_millis(20)),
            move |input: Write| {
                highest.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                held.pass();
                at_work.fetch_sub(1, Ordering::SeqCst);
                Ok(input.path)
            },
        );
        let (engine, _) = load(bare().tool(slow)).await;
        for _ in 0..6 {
            let result = engine.call(call(&name, json!({"path": "a"}))).await;
            assert_eq!(code(&result), "tool.timeout", "{}", result.text());
        }
        let places = if is_limited { 2 } else { 1 };
        until(|| most.load(Ordering::SeqCst) >= places).await;
        assert_eq!(most.load(Ordering::SeqCst), places, "{name}");
        // When they have ended, there is room again.
        gate.open();
        until(|| engine.abandoned_threads() == 0).await;
        gate.close();
        engine.call(call(&name, json!({"path": "a"}))).await;
        assert_eq!(engine.abandoned_threads(), 1, "{name}: it began");
        gate.open();
    }
}
