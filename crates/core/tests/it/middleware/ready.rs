//! The middleware that comes with the crate, and selection.

use crate::support::{bare, call, code, echo, load, numbered};
use serde_json::json;
use std::time::{Duration, Instant};
use tool_harness::Effects;
use tool_harness::middleware::{Middleware, NoRepeats, RateLimit, TurnView};
use tool_harness::registry::OfferedTool;
use tool_harness::tool::READER;
use tool_harness::{ToolRequest, ToolSpec};

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
async fn selection_narrows_the_surface_of_a_turn_and_removed_tools_do_not_run() {
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
async fn a_rate_limit_delays_calls_and_refuses_those_that_cannot_wait() {
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
        "a limit of zero allows no call"
    );
}

#[tokio::test]
async fn a_call_repeated_in_a_loop_is_refused_and_a_different_one_is_not() {
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
    assert!(!other.results[0].is_error, "another run starts from zero");
}
