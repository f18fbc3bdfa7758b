//! What fails closed: forged arguments, repairs, tools that are not advertised.

use crate::support::{bare, call, code, echo, load, numbered, text};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_harness::Effects;
use tool_harness::Repair;
use tool_harness::middleware::{Middleware, TurnView};
use tool_harness::registry::OfferedTool;
use tool_harness::tool::READER;
use tool_harness::tool::{Inject, Limits};
use tool_harness::{
    EngineBuilder, Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec,
};

/// Returns its arguments; the host injects `user`.
struct Whose(Effects);

impl Tool for Whose {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("whose", "Says whose it is.")
            .effects(self.0)
            .input(
                json!({"type": "object", "properties": {"n": {"type": "integer"}, "input": {"type": "object"}, "list": {"type": "array"}}}),
            )
            .inject("user", Inject::Host("user".into()))
            .inject("key", Inject::IdempotencyKey)
            .inject("call", Inject::CallId)
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::value(Value::Object(arguments)))
    }
}

fn whose(effects: Effects) -> EngineBuilder {
    bare()
        .tool(Whose(effects))
        .inject("user", |_| Some(json!("ann")))
}

#[tokio::test]
async fn injected_names_cannot_be_forged_however_they_are_wrapped() {
    for repair in [Repair::Off, Repair::WithoutEffects] {
        let (engine, _) = load(whose(Effects::NONE).repair(repair)).await;
        for sent in [
            r#"{"user": "eve"}"#,
            r#"{"n": 1, "user": "eve"}"#,
            r#"{"arguments": {"user": "eve"}}"#,
            r#"{"arguments": {"n": 1, "user": "eve"}, "n": 1}"#,
            r#"{"args": "{\"user\": \"eve\"}"}"#,
            r#"{"args": "```json\n{\"user\": \"eve\"}\n```"}"#,
            r#""{\"user\": \"eve\"}""#,
            r#""{\"arguments\": {\"user\": \"eve\"}}""#,
            "```json\n{\"user\": \"eve\"}\n```",
            "```\n{\"arguments\": {\"call\": \"eve\"}}\n```",
        ] {
            let result = engine.call(text("whose", sent)).await;
            assert!(
                result.is_error && !result.text().contains("eve\","),
                "{repair:?} {sent}: {}",
                result.text()
            );
            assert!(
                ["tool.args.invalid_schema", "tool.args.malformed_json"].contains(&code(&result)),
                "{repair:?} {sent}: {}",
                result.text()
            );
        }
        let sent = json!({"n": 1, "input": {"user": "a nested one is the tool's business"}});
        let mut twin = call("whose", sent.clone());
        twin.id = "c1".into();
        let value = engine.call(twin).await.value.expect("a value");
        assert_eq!(
            (
                &value["user"],
                &value["call"],
                &value["key"],
                &value["input"]
            ),
            (&json!("ann"), &json!("c1"), &json!("c1"), &sent["input"])
        );
    }
}

#[tokio::test]
async fn arguments_are_repaired_only_by_policy_and_never_for_tools_with_effects() {
    let texts = [
        ("{\"n\": 1}", true),
        ("\"{\\\"n\\\": 1}\"", false),
        ("```json\n{\"n\": 1}\n```", false),
        ("{\"arguments\": {\"n\": 1}}", false),
        ("{\"list\": \"[1, 2]\", \"n\": 1}", false),
    ];
    for (repair, effects, repaired) in [
        (Repair::Off, Effects::NONE, false),
        (Repair::WithoutEffects, Effects::NONE, true),
        (Repair::WithoutEffects, Effects::READ, false),
        (Repair::WithoutEffects, Effects::NET_READ, false),
        (
            Repair::WithoutEffects,
            Effects::READ | Effects::WRITE,
            false,
        ),
    ] {
        for (sent, plain) in texts {
            let (engine, events) = load(whose(effects).repair(repair)).await;
            let result = engine.call(text("whose", sent)).await;
            let understood = result.value.as_ref().is_some_and(|value| {
                value["n"] == 1 && (value["list"].is_null() || value["list"].is_array())
            });
            assert_eq!(
                understood,
                plain || repaired,
                "{repair:?} {effects} {sent}: {}",
                result.text()
            );
            assert_eq!(
                events.named("tool.repaired").len(),
                usize::from(repaired && !plain),
                "{repair:?} {effects} {sent}"
            );
        }
    }
}

#[tokio::test]
async fn malformed_json_is_answered_with_the_calls_id_and_is_never_an_empty_object() {
    // `whose` needs no argument, so an empty object would pass.
    for (tool, repair) in [
        ("echo", Repair::Off),
        ("whose", Repair::Off),
        ("whose", Repair::WithoutEffects),
    ] {
        let (engine, events) = load(whose(Effects::NONE).tool(echo("echo")).repair(repair)).await;
        let malformed = [
            "",
            "{",
            "[]",
            "null",
            "\"n\"",
            "\"[]\"",
            "{\"n\": 1,}",
            "n=1",
            "{\"n\": 1} {}",
            "```\n{\n```",
        ];
        for sent in malformed {
            let mut call = text(tool, sent);
            call.id = format!("id {sent}").into();
            let result = engine.call(call).await;
            assert_eq!(
                (result.call_id.as_str(), code(&result)),
                (format!("id {sent}").as_str(), "tool.args.malformed_json"),
                "{sent}"
            );
            let message = result.message().expect("a message");
            assert_eq!(message.call_id, format!("id {sent}").as_str());
        }
        assert_eq!(events.ends(), vec!["tool.rejected"; malformed.len()]);
    }
}

#[tokio::test]
async fn a_turn_runs_only_what_it_offers_and_a_child_never_gets_more_than_its_parent() {
    let (engine, events) = load(
        bare()
            .tool(echo("one"))
            .tool(echo("two"))
            .tool(echo("three")),
    )
    .await;
    let parent = engine.start(());
    let child = parent.child((), |tool| tool.name != "three");
    let grandchild = child.child((), |tool| tool.name != "two");
    let everything = child.child((), |_| true);
    for (run, offered) in [
        (&parent, vec!["one", "three", "two"]),
        (&child, vec!["one", "two"]),
        (&grandchild, vec!["one"]),
        (&everything, vec!["one", "two"]),
    ] {
        let turn = run.turn().expect("a turn");
        let names: Vec<&str> = turn
            .surface()
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .filter(|name| *name != READER)
            .collect();
        assert_eq!(names, offered);
        let requests = ["one", "two", "three"].map(|tool| {
            ToolRequest::new(tool_harness::digest::fresh_id("c"), tool, json!({"n": 1}))
        });
        for result in turn.call(requests.into()).await.results {
            let expected = if offered.contains(&result.name.as_str()) {
                ""
            } else {
                "tool.not_advertised"
            };
            assert_eq!(code(&result), expected, "{}", result.text());
            assert!(
                expected.is_empty() || !result.text().contains("`three`, "),
                "only what is offered is named: {}",
                result.text()
            );
        }
    }
    assert_eq!(events.named("surface.narrowed").len(), 3);
}

/// Hides `two` unless the context of the run allows it.
struct ByContext;

impl Middleware for ByContext {
    fn name(&self) -> &str {
        "by context"
    }

    fn offers(&self, turn: &TurnView<'_>, tool: &OfferedTool) -> bool {
        tool.name != "two" || turn.context::<bool>() == Some(&true)
    }
}

#[tokio::test]
async fn a_child_widens_neither_a_limit_nor_what_middleware_hides_from_its_parent() {
    let (engine, _) = load(bare().tool(echo("one"))).await;
    let ran = async |run: &tool_harness::Run| {
        let requests = (0..5)
            .map(|_| ToolRequest::new(tool_harness::digest::fresh_id("c"), "one", json!({"n": 1})))
            .collect();
        run.turn()
            .expect("a turn")
            .call(requests)
            .await
            .results
            .iter()
            .filter(|result| !result.is_error)
            .count()
    };
    let parent = engine.start(()).max_calls(2);
    assert_eq!(ran(&parent.child((), |_| true).max_calls(100)).await, 2);
    assert_eq!(
        ran(&parent).await,
        0,
        "calls of a child count for its parent"
    );
    let parent = engine.start(()).max_calls(4);
    assert_eq!(ran(&parent.child((), |_| true).max_calls(1)).await, 1);
    assert_eq!(ran(&parent).await, 3);
    assert_eq!(
        ran(&engine
            .start(())
            .max_calls_in_turn(2)
            .child((), |_| true)
            .max_calls_in_turn(50))
        .await,
        2
    );

    let most = Arc::new(AtomicUsize::new(0));
    let (at_work, seen) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&most));
    let slow = numbered(ToolSpec::new("one", "Takes its time.").pure(), move |n| {
        let (at_work, seen) = (Arc::clone(&at_work), Arc::clone(&seen));
        async move {
            seen.fetch_max(at_work.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            at_work.fetch_sub(1, Ordering::SeqCst);
            Ok(n)
        }
    });
    let (engine, _) = load(bare().tool(slow)).await;
    assert_eq!(
        ran(&engine
            .start(())
            .max_concurrency(2)
            .child((), |_| true)
            .max_concurrency(50))
        .await,
        5
    );
    assert_eq!(most.load(Ordering::SeqCst), 2);

    let tool = |name: &str| {
        numbered(
            ToolSpec::new(name, "A tool.").pure(),
            |n| async move { Ok(n) },
        )
    };
    let (engine, _) = load(
        bare()
            .context::<bool>()
            .middleware(ByContext)
            .tool(tool("one"))
            .tool(tool("two")),
    )
    .await;
    for (parent, offered) in [(false, 1), (true, 2)] {
        let child = engine.start(parent).child(true, |_| true);
        let turn = child.turn().expect("a turn");
        assert_eq!(
            turn.surface()
                .tools
                .iter()
                .filter(|tool| tool.name != READER)
                .count(),
            offered,
            "{parent}"
        );
    }
}

#[tokio::test]
async fn the_path_in_a_refusal_exists_whatever_the_argument_is_called() {
    struct Odd;
    impl Tool for Odd {
        fn spec(&self) -> ToolSpec {
            let schema = json!({"type": "object", "properties": {"to/~": {"type": "string"}}});
            ToolSpec::new("odd", "Has odd names.")
                .pure()
                .input(schema)
                .inject("who/~", Inject::CallId)
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
    let root = "---\npolicy:\n  tool_arg_constraints:\n    - {tool: odd, arg_key: \"to/~\", arg_patterns: [\"ann\"]}\n---\n";
    let (engine, _) = load(bare().root(root).tool(Odd)).await;
    for (sent, expected) in [
        (json!({"to/~": "ann"}), ""),
        (json!({"to/~": "eve"}), "tool.denied"),
        (json!({"who/~": "eve"}), "tool.args.invalid_schema"),
        (
            json!({"args": {"who/~": "eve"}}),
            "tool.args.invalid_schema",
        ),
    ] {
        let result = engine.call(call("odd", sent.clone())).await;
        assert_eq!(code(&result), expected, "{}", result.text());
        if let Some(error) = &result.error {
            let path = error.details["path"].as_str().expect("a path");
            assert!(sent.pointer(path).is_some(), "{path} is not in {sent}");
        }
    }
}

#[tokio::test]
async fn a_call_refused_by_one_limit_consumes_no_other_limit() {
    let limited = |name: &str, most| {
        numbered(
            ToolSpec::new(name, "A tool.").pure().limits(Limits {
                max_calls: Some(most),
                ..Limits::default()
            }),
            |n| async move { Ok(n) },
        )
    };
    let (engine, _) = load(
        bare()
            .tool(limited("twice", 2))
            .tool(limited("once", 1))
            .tool(echo("often")),
    )
    .await;
    let made = async |run: &tool_harness::Run, tools: &[&str]| -> Vec<bool> {
        let requests = tools
            .iter()
            .map(|tool| {
                ToolRequest::new(tool_harness::digest::fresh_id("c"), *tool, json!({"n": 1}))
            })
            .collect();
        run.turn()
            .expect("a turn")
            .call(requests)
            .await
            .results
            .iter()
            .map(|result| !result.is_error)
            .collect()
    };
    let run = engine.start(()).max_calls_in_turn(1);
    assert_eq!(
        made(&run, &["twice", "twice", "twice"]).await,
        [true, false, false]
    );
    assert_eq!(
        made(&run, &["twice", "twice"]).await,
        [true, false],
        "calls that the turn's limit refused do not count for the tool"
    );
    assert_eq!(made(&run, &["twice"]).await, [false]);
    let run = engine.start(()).max_calls(3);
    assert_eq!(
        made(
            &run.child((), |_| true).max_calls(3),
            &["once", "once", "once", "often"]
        )
        .await,
        [true, false, false, true]
    );
    assert_eq!(
        made(&run, &["often", "often"]).await,
        [true, false],
        "calls that the tool's limit refused do not count for the run"
    );
    assert!(
        !engine
            .call(call("once", json!({"n": 1})).session("s"))
            .await
            .is_error
    );
    let refused = engine
        .call(call("once", json!({"n": 1})).session("s"))
        .await
        .text();
    assert!(
        refused.contains("set in the host's own code"),
        "a Rust tool has no file: {refused}"
    );
}

#[tokio::test]
async fn a_duplicate_call_id_is_refused() {
    let (engine, _) = load(bare().tool(echo("echo"))).await;
    let run = engine.start(());
    let turn = run.turn().expect("a turn");
    let request = || ToolRequest::new("same", "echo", json!({"n": 1}));
    let results = turn.call(vec![request(), request()]).await.results;
    assert_eq!(
        (code(&results[0]), code(&results[1])),
        ("", "tool.duplicate_call")
    );
}
