//! How calls run: places, limits, retries, keys.

use crate::support::{bare, call, code, echo, load, numbered};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tool_harness::control::Control;
use tool_harness::effect::Effects;
use tool_harness::error_policy::{ErrorPolicy, Reaction};
use tool_harness::middleware::{Around, Later, Middleware, Next, Reply, Seen, Step};
use tool_harness::refusal::{Class, Code};
use tool_harness::store::StoreScope;
use tool_harness::tool::{Idempotency, Inject, Limits, RetryPolicy, blocking};
use tool_harness::turn::Ended;
use tool_harness::{Run, Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec};

fn requests(tool: &str, arguments: impl IntoIterator<Item = Value>) -> Vec<ToolRequest> {
    arguments
        .into_iter()
        .enumerate()
        .map(|(index, arguments)| ToolRequest::new(format!("c{index}"), tool, arguments))
        .collect()
}

fn numbers(count: i64) -> impl Iterator<Item = Value> {
    (0..count).map(|n| json!({"n": n}))
}

/// A tool that waits, and how many of its calls were at work at once at most.
fn waits(spec: ToolSpec, time: Duration) -> (impl Tool, Arc<AtomicUsize>) {
    let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let tool = numbered(spec, move |n| {
        let (at_once, most) = (Arc::clone(&at_once), Arc::clone(&seen));
        async move {
            most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(time).await;
            at_once.fetch_sub(1, Ordering::SeqCst);
            Ok(n)
        }
    });
    (tool, most)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_calls_of_one_turn_run_eight_at_once_and_answer_in_order() {
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
    // That it takes little longer is for the benchmark to show: a busy machine has no upper end.
    assert!(took >= time * 125, "{took:?}");
}

#[tokio::test]
async fn limits_of_a_tool_a_key_and_the_engine_hold() {
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
async fn where_three_of_five_are_allowed_three_run_and_two_are_refused() {
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
    assert!(!next.results[0].is_error, "a new turn counts anew");
    let next = runs[0]
        .turn()
        .expect("a turn")
        .call(vec![ToolRequest::new("n", "echo", json!({"n": 1}))])
        .await;
    assert_eq!(code(&next.results[0]), "tool.limit", "a run does not");
    assert_eq!(events.ends().len(), 17);
}

#[tokio::test]
async fn where_several_limits_hold_each_counts_only_what_ran() {
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
async fn a_run_keeps_its_session_and_its_limits_whoever_else_comes() {
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
    let block = blocking(
        ToolSpec::new("block", "Blocks.").pure(),
        |input: crate::support::Number| {
            std::thread::sleep(Duration::from_millis(200));
            Ok(input.n)
        },
    );
    let (engine, _) = load(bare().tool(block).tool(echo("echo"))).await;
    let run = engine.start(());
    let turn = run.turn().expect("a turn");
    let started = Instant::now();
    let mut all = requests("block", numbers(6));
    all.push(ToolRequest::new("quick", "echo", json!({"n": 1})));
    let turned = turn.call(all).await;
    assert!(
        turned.results.iter().all(|result| !result.is_error)
            && started.elapsed() < Duration::from_millis(600),
        "{:?}",
        started.elapsed()
    );
    assert!(
        turned.results[6].elapsed < Duration::from_millis(150),
        "{:?}",
        turned.results[6].elapsed
    );
}

#[tokio::test]
async fn what_may_pass_is_tried_again_only_when_a_repeat_does_no_harm() {
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
                .map(|event| event.fields["attempt"].as_u64())
                .collect::<Vec<_>>(),
            (2..=attempts as u64).map(Some).collect::<Vec<_>>()
        );
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_between_two_attempts_is_cancelled() {
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
async fn a_repeated_key_gets_the_stored_result_also_while_the_first_is_at_work() {
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

#[tokio::test]
async fn control_flow_is_no_message_and_the_policy_says_what_ends_a_run() {
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
    assert_eq!(
        events.ends().len(),
        8,
        "each call has its last event all the same"
    );
}

/// Calls `stop`, and makes a text of whatever comes.
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
async fn where_a_run_shall_go_is_not_swallowed_by_the_tool_around_the_one_that_says_it() {
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

/// Makes a result of every failure, or tries again.
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
async fn where_a_run_shall_go_no_link_no_layer_and_no_deadline_makes_a_result_of_it() {
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
            "{what} {tool}: nothing is begun again"
        );
        assert_eq!(
            events.ends(),
            vec!["tool.failed"; if tool == "hang" { 2 } else { 1 }]
        );
    }
}

/// Calls another tool, and waits for what comes of it.
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
        // Whoever else is at it shall have begun.
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
async fn a_call_inside_another_waits_for_others_and_is_refused_only_where_they_wait_for_it() {
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
    // It ends at the same time as the call around it, and either may say so.
    assert!(
        asked.text().contains("tool.timeout"),
        "no longer than it has: {}",
        asked.text()
    );
}

#[tokio::test]
async fn calls_inside_calls_never_wait_in_a_circle() {
    let at_once = |name: &str, most| {
        ToolSpec::new(name, "Calls.").pure().limits(Limits {
            max_concurrency: Some(most),
            ..Limits::default()
        })
    };
    // One that calls itself, two that call each other, and one of whose two places another call has.
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
        started.elapsed() < Duration::from_secs(10),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_is_left_behind_keeps_its_place_until_it_ends() {
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
        let slow = blocking(
            spec.timeout(Duration::from_millis(20)),
            move |input: Write| {
                highest.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_secs(1));
                at_work.fetch_sub(1, Ordering::SeqCst);
                Ok(input.path)
            },
        );
        let (engine, _) = load(bare().tool(slow)).await;
        for _ in 0..6 {
            let result = engine.call(call(&name, json!({"path": "a"}))).await;
            assert_eq!(code(&result), "tool.timeout", "{}", result.text());
        }
        assert_eq!(
            most.load(Ordering::SeqCst),
            if is_limited { 2 } else { 1 },
            "{name}"
        );
        // When they have ended, there is room again.
        while engine.abandoned_threads() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        engine.call(call(&name, json!({"path": "a"}))).await;
        assert_eq!(engine.abandoned_threads(), 1, "{name}: it began");
    }
}
