//! Rules in code.

use super::Spec;
use crate::support::{bare, call, code, echo, load, numbered};
use serde_json::json;
use tool_harness::Effects;
use tool_harness::ToolSpec;
use tool_harness::tool::READER;

#[tokio::test]
async fn rules_in_code_govern_rust_tools_and_their_aliases() {
    let root = "---\ntools_policy:\n  deny: [\"drop_*\"]\npolicy:\n  side_effect_level: read_only\n  tool_arg_constraints:\n    - {tool: read_it, arg_key: path, arg_patterns: [\"src/**\"]}\n---\nRules.\n";
    let path =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    let read = Spec(
        ToolSpec::new("read_it", "Reads.")
            .effects(Effects::READ)
            .input(path.clone())
            .path_param("path")
            .alias("openai", "readIt"),
    );
    let write = Spec(
        ToolSpec::new("write_it", "Writes.")
            .effects(Effects::READ | Effects::WRITE)
            .input(path),
    );
    let builder = bare()
        .root(root)
        .tool(read)
        .tool(write)
        .tool(echo("drop_it"));
    let (engine, events) = load(builder).await;
    let offered: Vec<String> = engine
        .surface("default")
        .expect("a surface")
        .tools
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(offered, [READER, "read_it", "write_it"]);
    let result = engine.call(call("readIt", json!({"path": "src/a"}))).await;
    assert_eq!((result.is_error, result.name.as_str()), (false, "read_it"));
    assert_eq!(
        events.named("tool.completed")[0].fields()["tool"],
        "read_it"
    );
    for (tool, arguments, expected) in [
        ("read_it", json!({"path": "etc/a"}), "tool.denied"),
        ("read_it", json!({"path": "src/../etc"}), "tool.denied"),
        ("write_it", json!({"path": "src/a"}), "tool.denied"),
        ("drop_it", json!({"n": 1}), "tool.denied"),
        ("readit", json!({}), "tool.unknown"),
    ] {
        let result = engine.call(call(tool, arguments)).await;
        assert_eq!(code(&result), expected, "{tool}: {}", result.text());
    }
    let explained = engine
        .explain(call("write_it", json!({"path": "src/a"})))
        .await;
    assert_eq!(
        explained.outcome.expect_err("refused").code.text(),
        "tool.denied"
    );
}

#[tokio::test]
async fn a_broken_root_in_code_stops_everything() {
    let (engine, _) = load(bare().root("---\npolicy: [\n---\n").tool(echo("echo"))).await;
    assert_eq!(
        code(&engine.call(call("echo", json!({"n": 1}))).await),
        "project.broken"
    );
}

#[tokio::test]
async fn a_tool_that_needs_approval_is_refused_without_an_approver() {
    let confirm = numbered(
        ToolSpec::new("send_it", "Sends.").pure().confirm(),
        |n| async move { Ok(n) },
    );
    let spend = numbered(
        ToolSpec::new("pay_it", "Pays.").effects(Effects::NET_WRITE | Effects::SPEND),
        |n| async move { Ok(n) },
    );
    let (engine, _) = load(bare().tool(confirm).tool(spend)).await;
    for tool in ["send_it", "pay_it"] {
        assert_eq!(
            code(&engine.call(call(tool, json!({"n": 1}))).await),
            "tool.approval.denied",
            "{tool}"
        );
    }
}
