//! Middleware: before, after, around, selection.

use crate::support::{bare, call, code, echo, load, numbered};
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tool_harness::control::Control;
use tool_harness::effect::Effects;
use tool_harness::middleware::{
    Around, Decision, Judged, Later, Middleware, Next, NoRepeats, RateLimit, Reply, Seen, Step,
    TurnView,
};
use tool_harness::refusal::Class;
use tool_harness::registry::OfferedTool;
use tool_harness::tool::Inject;
use tool_harness::tool::READER;
use tool_harness::{ToolError, ToolOutput, ToolRequest, ToolSpec};

type Log = Arc<Mutex<Vec<String>>>;

/// Writes down when it is asked.
struct Marker(&'static str, i64, Log);

impl Middleware for Marker {
    fn name(&self) -> &str {
        self.0
    }

    fn priority(&self) -> i64 {
        self.1
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        let mut arguments = call.arguments().clone();
        self.2
            .lock()
            .expect("log")
            .push(format!("{} {}", self.0, arguments["n"]));
        arguments.insert("n".into(), json!(arguments["n"].as_i64().unwrap_or(0) + 1));
        call.set_arguments(arguments);
        Decision::Allow.into()
    }

    fn after<'a>(&'a self, call: &'a Seen<'_>, answer: &'a mut Reply<'_>) -> Step<'a, ()> {
        Step::later(async move {
            tokio::task::yield_now().await;
            self.2
                .lock()
                .expect("log")
                .push(format!("{} after {}", self.0, call.tool().name()));
            let value = answer
                .output()
                .value
                .as_ref()
                .and_then(|value| value.as_i64())
                .unwrap_or(0);
            answer.answer(ToolOutput::value(value * 10));
        })
    }
}

#[tokio::test]
async fn links_run_by_priority_and_each_sees_what_the_one_before_left() {
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

/// Says one thing to every call.
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
async fn a_link_refuses_asks_defers_or_ends_the_run() {
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
                assert_eq!(result.message(), Err(control), "control flow is no message")
            }
            _ => assert!(result.message().is_ok()),
        }
    }
}

/// Changes the arguments to these.
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
async fn a_link_puts_nothing_where_the_harness_fills_in() {
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
async fn a_link_that_panics_lets_nothing_pass() {
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

/// Never comes to an end, at one of the three places where the host's code stands.
struct Waits(&'static str);

impl Middleware for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        match self.0 {
            "before" => Step::later(std::future::pending()),
            "defer" => Decision::Defer(Duration::ZERO).into(),
            _ => Decision::Allow.into(),
        }
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, _: &'a mut Reply<'_>) -> Step<'a, ()> {
        if self.0 == "after" {
            Step::later(std::future::pending())
        } else {
            ().into()
        }
    }
}

impl Around for Waits {
    fn name(&self) -> &str {
        "waits"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            if self.0 == "around" {
                std::future::pending().await
            } else {
                next.finish().await
            }
        })
    }
}

#[tokio::test]
async fn a_link_or_layer_that_never_ends_holds_no_call_beyond_its_time() {
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
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{at}: {:?}",
            started.elapsed()
        );
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

#[tokio::test]
async fn a_link_that_puts_a_call_off_for_ever_has_it_refused_after_so_many_events() {
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

/// Tries up to so often, or answers itself.
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
async fn a_layer_tries_again_answers_itself_and_is_checked_against_the_schema() {
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

/// Looks at a failure, and says it in its own way.
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
async fn a_layer_sees_the_code_and_details_of_a_failure_and_what_it_changes_is_told() {
    let busy = || {
        numbered(ToolSpec::new("ask", "Asks.").pure(), |n| async move {
            match n {
                0 => Err(ToolError::retryable("busy", "try later").detail("after_ms", 50)),
                _ => panic!("no code of its own"),
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
async fn layers_and_links_do_not_make_calls_wait_for_each_other() {
    let slow = numbered(ToolSpec::new("slow", "Waits.").pure(), |n| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(n)
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
    let started = Instant::now();
    let requests = (0..4)
        .map(|n| ToolRequest::new(format!("c{n}"), "slow", json!({"n": n})))
        .collect();
    let turned = run.turn().expect("a turn").call(requests).await;
    assert!(
        turned.results.iter().all(|result| !result.is_error)
            && started.elapsed() < Duration::from_millis(300),
        "{:?}",
        started.elapsed()
    );
}

/// Offers tools without effects after the first turn.
struct Narrow;

impl Middleware for Narrow {
    fn name(&self) -> &str {
        "narrow"
    }

    fn offers(&self, turn: &TurnView<'_>, tool: &OfferedTool) -> bool {
        turn.number() == 1 || tool.effects.is_empty()
    }
}

#[tokio::test]
async fn selection_narrows_the_surface_of_a_turn_and_what_it_takes_away_does_not_run() {
    let write = numbered(
        ToolSpec::new("write_it", "Writes.").effects(Effects::WRITE),
        |n| async move { Ok(n) },
    );
    let (engine, _) = load(bare().middleware(Narrow).tool(write).tool(echo("echo"))).await;
    let run = engine.start(());
    for (number, offered, expected) in [(1, 2, ""), (2, 1, "tool.not_advertised")] {
        let turn = run.turn().expect("a turn");
        assert_eq!(
            turn.surface()
                .tools
                .iter()
                .filter(|tool| tool.name != READER)
                .count(),
            offered
        );
        let turned = turn
            .call(vec![ToolRequest::new(
                format!("c{number}"),
                "write_it",
                json!({"n": 1}),
            )])
            .await;
        assert_eq!(code(&turned.results[0]), expected);
    }
}

#[tokio::test]
async fn a_rate_limit_puts_calls_off_and_refuses_those_that_cannot_wait() {
    let (engine, _) = load(
        bare()
            .middleware(RateLimit::new(2, Duration::from_millis(60)))
            .tool(echo("one"))
            .tool(echo("two")),
    )
    .await;
    let started = Instant::now();
    for _ in 0..3 {
        assert!(!engine.call(call("one", json!({"n": 1}))).await.is_error);
    }
    assert!(
        started.elapsed() >= Duration::from_millis(60),
        "{:?}",
        started.elapsed()
    );
    assert!(
        !engine.call(call("two", json!({"n": 1}))).await.is_error,
        "each tool has its own"
    );
    let (engine, _) = load(
        bare()
            .middleware(RateLimit::new(1, Duration::from_secs(3600)))
            .tool(echo("one")),
    )
    .await;
    let codes = [
        engine.call(call("one", json!({"n": 1}))).await,
        engine.call(call("one", json!({"n": 1}))).await,
    ];
    assert_eq!(codes.each_ref().map(code), ["", "tool.limit"]);
    assert!(codes[1].error.as_ref().expect("refused").details["retry_after_ms"].is_u64());
    let (engine, _) = load(
        bare()
            .middleware(RateLimit::new(0, Duration::from_millis(1)))
            .tool(echo("one")),
    )
    .await;
    assert_eq!(
        code(&engine.call(call("one", json!({"n": 1}))).await),
        "tool.hook.blocked",
        "none is none"
    );
}

#[tokio::test]
async fn the_same_call_again_and_again_is_refused_and_another_one_is_not() {
    let (engine, _) = load(bare().middleware(NoRepeats::new(2)).tool(echo("echo"))).await;
    let run = engine.start(());
    let request =
        |index: usize, n: i64| ToolRequest::new(format!("c{index}"), "echo", json!({ "n": n }));
    let mut codes = Vec::new();
    for (index, n) in [1, 1, 1, 2].into_iter().enumerate() {
        codes.push(code(
            &run.turn()
                .expect("a turn")
                .call(vec![request(index, n)])
                .await
                .results[0],
        ));
    }
    assert_eq!(codes, ["", "", "tool.hook.blocked", ""]);
    let other = engine
        .start(())
        .turn()
        .expect("a turn")
        .call(vec![request(0, 1)])
        .await;
    assert!(!other.results[0].is_error, "another run starts anew");
}
