//! A call that ends early ends once: by its token, by its deadline, or because it is dropped.

use crate::links::{Does, Script};
use crate::support::{Number, bare, call, code, echo, load};
use serde_json::{Map, Value, json};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tool_harness::middleware::{Decision, Judged, Middleware, Reply, Seen, Step};
use tool_harness::tool::blocking;
use tool_harness::{Engine, Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec};

/// Notes what it got when it sees the result, and can cancel the call.
struct Watches(Arc<Mutex<Vec<String>>>, &'static str);

impl Middleware for Watches {
    fn name(&self) -> &str {
        "watches"
    }

    fn before<'a>(&'a self, call: &'a mut Judged<'_>) -> Step<'a, Decision> {
        if self.1 == "before" {
            call.call().call().cancel.cancel();
        }
        Decision::Allow.into()
    }

    fn after<'a>(&'a self, call: &'a Seen<'_>, answer: &'a mut Reply<'_>) -> Step<'a, ()> {
        if self.1 == "after" {
            call.call().cancel.cancel();
        }
        let said = format!(
            "{} {}",
            call.call().cancel.is_cancelled(),
            answer.error().map_or("", |error| error.code.text())
        );
        self.0.lock().expect("log").push(said);
        ().into()
    }
}

/// Cancels its own call if told to, and waits for that.
struct Ends;

impl Tool for Ends {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("end_it", "Ends.")
            .pure()
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        match arguments.get("call").and_then(Value::as_str) {
            Some(tool) => {
                let result = runtime.call(tool, json!({})).await;
                let code = result.error.as_ref().map_or("", |error| error.code.text());
                Ok(ToolOutput::value(json!([
                    code,
                    runtime.cancellation().is_cancelled()
                ])))
            }
            None => std::future::pending().await,
        }
    }
}

async fn ends(
    engine: &Engine,
    asked: tool_harness::Call,
    cancel: impl FnOnce() + Send + 'static,
) -> &'static str {
    let ends = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(15)).await;
        cancel();
    });
    let result = tokio::time::timeout(Duration::from_secs(20), engine.call(asked))
        .await
        .expect("an end");
    ends.await.expect("it ended");
    code(&result)
}

#[tokio::test]
async fn only_the_token_of_a_call_cancels_it() {
    let (engine, events) = load(bare().tool(Ends).tool(echo("echo"))).await;
    let asked = || call("end_it", json!({}));
    // Through an earlier clone, a clone of the whole call, a cloned call, its own token, and a parent token.
    let made = asked();
    let clone = made.cancel.clone();
    assert_eq!(
        ends(&engine, made, move || clone.cancel()).await,
        "tool.cancelled"
    );
    let made = asked();
    let copy = made.clone();
    assert_eq!(
        ends(&engine, made, move || copy.cancel.cancel()).await,
        "tool.cancelled"
    );
    let made = asked();
    let copy = made.clone();
    assert_eq!(
        ends(&engine, copy, move || made.cancel.cancel()).await,
        "tool.cancelled"
    );
    let made = asked();
    let (copy, child) = (made.clone().clone(), made.cancel.child_token());
    assert_eq!(
        ends(&engine, copy, move || made.cancel.cancel()).await,
        "tool.cancelled"
    );
    assert!(child.is_cancelled());
    let (mut made, token) = (asked(), CancellationToken::new());
    made.cancel = token.clone().into();
    assert_eq!(
        ends(&engine, made, move || token.cancel()).await,
        "tool.cancelled"
    );
    let (mut made, token) = (asked(), CancellationToken::new());
    made.cancel = token.child_token().into();
    assert_eq!(
        ends(&engine, made, move || token.cancel()).await,
        "tool.cancelled"
    );

    // Other tokens do not cancel this call, and its token cancels no other call.
    let (one, other) = (call("echo", json!({"n": 1})), asked());
    other.cancel.cancel();
    assert!(
        other.cancel.is_cancelled()
            && other.clone().cancel.is_cancelled()
            && !one.cancel.is_cancelled()
    );
    assert!(!engine.call(one).await.is_error);
    // Cancelled before its token was first used, and before it began.
    let late = call("echo", json!({"n": 1}));
    late.cancel.cancel();
    let copy = late.clone();
    assert_eq!(
        (code(&engine.call(late).await), copy.cancel.is_cancelled()),
        ("tool.cancelled", true)
    );
    // Cancelling afterwards changes nothing.
    let over = call("echo", json!({"n": 1}));
    let cancel = over.cancel.clone();
    assert!(!engine.call(over).await.is_error);
    cancel.cancel();
    assert_eq!(events.ends().len(), 9);
}

#[tokio::test]
async fn middleware_can_cancel_a_call_and_its_nested_calls() {
    for (at, expected, seen) in [
        ("nowhere", "", "false "),
        ("before", "tool.cancelled", "true tool.cancelled"),
        ("after", "", "true "),
    ] {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let (engine, events) = load(
            bare()
                .middleware(Watches(Arc::clone(&log), at))
                .tool(echo("echo")),
        )
        .await;
        let asked = call("echo", json!({"n": 1}));
        let copy = asked.clone();
        assert_eq!(code(&engine.call(asked).await), expected, "{at}");
        assert_eq!(
            (
                log.lock().expect("log").as_slice(),
                copy.cancel.is_cancelled()
            ),
            (&[seen.to_owned()][..], at != "nowhere"),
            "{at}"
        );
        assert_eq!(events.ends().len(), 1, "{at}");
    }
    let (engine, events) = load(bare().tool(Ends)).await;
    let made = call("end_it", json!({"call": "end_it"}));
    let cancel = made.cancel.clone();
    // A tool that sees the cancellation may still answer.
    assert_eq!(ends(&engine, made, move || cancel.cancel()).await, "");
    assert_eq!(events.ends(), ["tool.failed", "tool.completed"]);
    // Cancelling a run ends all its calls.
    let run = engine.start(());
    let cancel = run.cancellation();
    let turn = run.turn().expect("a turn");
    let sent = (0..3).map(|n| {
        ToolRequest::new(
            format!("c{n}"),
            "end_it",
            if n == 0 {
                json!({"call": "end_it"})
            } else {
                json!({})
            },
        )
    });
    let (turned, ()) = tokio::join!(turn.call(sent.collect()), async {
        tokio::time::sleep(Duration::from_millis(15)).await;
        cancel.cancel();
    });
    assert_eq!(
        turned.results[0].value,
        Some(json!(["tool.cancelled", true]))
    );
    assert_eq!(
        turned.results.iter().map(code).collect::<Vec<_>>(),
        ["", "tool.cancelled", "tool.cancelled"]
    );
    let after = run
        .turn()
        .expect("a turn")
        .call(vec![ToolRequest::new("later", "end_it", json!({}))])
        .await;
    assert_eq!(code(&after.results[0]), "tool.cancelled");
    assert_eq!(events.ends().len(), 2 + 4 + 1);
}

/// Returns how much time it has left, in milliseconds, and how much a nested call has.
struct Clock;

impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("tell_time", "Tells the time.")
            .pure()
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let left = json!(u64::try_from(runtime.time_left().as_millis()).unwrap_or(u64::MAX));
        Ok(ToolOutput::value(match arguments.contains_key("inside") {
            false => left,
            true => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                json!([left, runtime.call("tell_time", json!({})).await.value])
            }
        }))
    }
}

#[tokio::test]
async fn the_earliest_deadline_applies_and_counts_from_the_start() {
    let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
    for (budget, timeout, most) in [
        (Some(minute), None, 60_000),
        (Some(minute), Some(Duration::MAX), 60_000),
        (Some(minute), Some(30 * second), 30_000),
        (Some(30 * second), Some(minute), 30_000),
        (Some(Duration::MAX), Some(minute), 60_000),
        (Some(Duration::MAX), None, u64::MAX),
        (Some(Duration::MAX), Some(Duration::MAX), u64::MAX),
        (None, None, u64::MAX),
    ] {
        let builder = budget
            .map_or_else(bare, |budget| bare().budget(budget))
            .middleware(Script::new("quiet", 1, false, &[]));
        let (engine, _) = load(builder.tool(Clock)).await;
        let mut asked = call("tell_time", json!({"inside": true}));
        asked.timeout = timeout;
        let begun = Instant::now();
        let result = engine.call(asked).await;
        let took = u64::try_from(begun.elapsed().as_millis()).expect("a short time");
        let value = result
            .value
            .clone()
            .unwrap_or_else(|| panic!("{budget:?} {timeout:?}: {}", result.text()));
        let (outer, inner) = (
            value[0].as_u64().expect("a time"),
            value[1].as_u64().expect("a time"),
        );
        if most < u64::MAX {
            assert!(
                outer <= most && outer + took + 1 >= most,
                "{budget:?} {timeout:?}: {value}"
            );
        }
        assert!(
            inner < outer && inner + took + 1 >= outer,
            "{budget:?} {timeout:?}: {value}"
        );
    }
    // With a deadline of zero, a waiting call is late at once and names the limit.
    for (budget, timeout, whose) in [
        (minute, Some(Duration::ZERO), "limit of this call"),
        (Duration::ZERO, None, "time any call has"),
        (Duration::ZERO, Some(minute), "time any call has"),
    ] {
        let (engine, events) = load(bare().budget(budget).tool(Ends).tool(echo("echo"))).await;
        let mut asked = call("end_it", json!({}));
        asked.timeout = timeout;
        let result = engine.call(asked).await;
        assert_eq!((code(&result), events.ends().len()), ("tool.timeout", 1));
        assert!(
            result.text().contains(whose) && result.text().contains("within 0 ms"),
            "{}",
            result.text()
        );
    }
}

#[tokio::test]
async fn dropping_a_turn_ends_each_of_its_calls_once_at_any_stage() {
    for polls in 0..12 {
        let blocks = blocking(ToolSpec::new("block", "Blocks.").pure(), |input: Number| {
            std::thread::sleep(Duration::from_millis(30));
            Ok(input.n)
        });
        let builder = bare()
            .middleware(Script::new("puts_off", 1, false, &[Does::Defer]))
            .tool(echo("echo"))
            .tool(Ends)
            .tool(blocks);
        let (engine, events) = load(builder).await;
        let run = engine.start(()).max_calls(6).max_concurrency(3);
        let turn = run.turn().expect("a turn");
        let tools = [
            "echo", "nothing", "end_it", "block", "echo", "end_it", "echo", "echo", "echo",
        ];
        let sent = tools
            .iter()
            .enumerate()
            .map(|(n, tool)| ToolRequest::new(format!("c{n}"), *tool, json!({"n": n})));
        {
            let mut call = std::pin::pin!(turn.call(sent.collect()));
            for _ in 0..polls {
                let step = std::future::poll_fn(|cx| {
                    std::task::Poll::Ready(call.as_mut().poll(cx).is_ready())
                })
                .await;
                assert!(!step, "some calls never ended");
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
        let mut ended: Vec<String> = Vec::new();
        for event in events.all() {
            let id = event
                .call_id
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            let is_last =
                ["tool.completed", "tool.failed", "tool.rejected"].contains(&event.name());
            assert!(
                !ended.contains(&id),
                "{polls}: {} of {id} after its end",
                event.name()
            );
            ended.extend(is_last.then_some(id));
        }
        ended.sort();
        // A future that was never polled has not begun.
        let expected = if polls == 0 {
            Vec::new()
        } else {
            (0..9).map(|n| format!("c{n}")).collect::<Vec<_>>()
        };
        assert_eq!(ended, expected, "{polls}");
        let rejected: Vec<Value> = events
            .named("tool.rejected")
            .iter()
            .map(|event| event.fields()["code"].clone())
            .collect();
        if polls > 0 {
            assert_eq!(rejected.len(), 3, "{polls}: {rejected:?}");
        }
    }
}

#[tokio::test]
async fn a_dropped_call_ends_once_at_any_stage_and_a_refused_one_does_not_end_again() {
    for polls in 0..8 {
        let builder = bare()
            .middleware(Script::new("waits", 1, true, &[Does::Defer, Does::Puts(2)]))
            .tool(Ends);
        let (engine, events) = load(builder).await;
        for tool in ["end_it", "nothing"] {
            let mut call = Box::pin(engine.call(call(tool, json!({}))));
            for _ in 0..polls {
                if std::future::poll_fn(|cx| {
                    std::task::Poll::Ready(call.as_mut().poll(cx).is_ready())
                })
                .await
                {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        let expected: &[&str] = if polls == 0 {
            &[]
        } else {
            &["tool.failed", "tool.rejected"]
        };
        assert_eq!(events.ends(), expected, "{polls}");
        let names: Vec<String> = events
            .all()
            .into_iter()
            .map(|event| event.name().to_owned())
            .collect();
        assert_eq!(
            names.iter().filter(|name| *name == "tool.started").count(),
            polls.min(1),
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn the_last_event_lists_the_reached_stages_in_order_and_their_times_add_up() {
    let (engine, events) = load(
        bare()
            .middleware(Script::new("quiet", 1, false, &[]))
            .tool(echo("echo"))
            .tool(Ends),
    )
    .await;
    engine.call(call("echo", json!({"n": 1}))).await;
    engine.call(call("echo", json!({"n": "one"}))).await;
    engine.call(call("nothing", json!({}))).await;
    let mut timed = call("end_it", json!({}));
    timed.timeout = Some(Duration::from_millis(100));
    engine.call(timed).await;
    let stages: Vec<Map<String, Value>> = events
        .all()
        .iter()
        .filter_map(|event| event.fields().get("stages_ms")?.as_object().cloned())
        .collect();
    let names: Vec<Vec<&str>> = stages
        .iter()
        .map(|stages| stages.keys().map(String::as_str).collect())
        .collect();
    let all = vec!["admit", "authorize", "before", "execute", "finish"];
    assert_eq!(names, [all.clone(), vec!["admit"], vec!["admit"], all]);
    let times = |stages: &Map<String, Value>| {
        stages
            .values()
            .filter_map(Value::as_f64)
            .collect::<Vec<_>>()
    };
    assert!(
        stages
            .iter()
            .all(|stages| times(stages).iter().all(|time| *time >= 0.0)),
        "{stages:?}"
    );
    assert!(times(&stages[3]).iter().sum::<f64>() >= 100.0, "{stages:?}");
    let elapsed = events
        .all()
        .iter()
        .filter_map(|event| event.fields().get("elapsed_ms")?.as_f64())
        .next_back()
        .expect("a time");
    assert!(
        (times(&stages[3]).iter().sum::<f64>() - elapsed).abs() <= elapsed / 4.0,
        "{stages:?} {elapsed}"
    );
}
