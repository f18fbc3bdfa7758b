//! Seed 000: arguments, scripts and results.

use super::{SCRIPT, findings, load, only};
use crate::support::{call, code, hook, tool, tool_with};
use serde_json::{Value, json};
use tool_harness::diagnostic::Severity;

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_type_semantics_and_a_string_is_never_a_number() {
    let parameters = "parameters:\n  s: {type: string}\n  n: {type: number}\n  b: {type: boolean}\n  o: {type: object}\n  a: {type: array}\n";
    let script = "def run(args):\n    return {k: type(v) for k, v in args.items()}";
    let (_project, engine) =
        load(&[(".harness/tools/run_x.md", &tool_with(parameters, script))]).await;
    for (key, value, kind) in [
        ("s", json!("x"), "string"),
        ("s", json!("5"), "string"),
        ("n", json!(5), "int"),
        ("n", json!(5.5), "float"),
        ("n", json!(-0.0), "float"),
        ("b", json!(true), "bool"),
        ("o", json!({"x": 1}), "dict"),
        ("a", json!([1]), "list"),
    ] {
        let result = engine.call(call("run_x", json!({key: value}))).await;
        assert_eq!(
            result.value,
            Some(json!({key: kind})),
            "{value}: {:?}",
            result.error
        );
    }
    let wrong: &[(&str, Value)] = &[
        ("n", json!("5")),
        ("n", json!("")),
        ("n", json!(true)),
        ("n", json!(null)),
        ("s", json!(5)),
        ("s", json!(null)),
        ("s", json!(["x"])),
        ("b", json!("true")),
        ("b", json!(1)),
        ("b", json!(0)),
        ("o", json!("{}")),
        ("o", json!([])),
        ("a", json!("[]")),
        ("a", json!({})),
    ];
    for (key, value) in wrong {
        let result = engine.call(call("run_x", json!({*key: value}))).await;
        assert_eq!(code(&result), "tool.args.invalid_schema", "{key} = {value}");
        assert!(
            result.text().contains(&format!("/{key}")),
            "{}",
            result.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_a_missing_required_parameter_is_refused_before_any_hook_runs() {
    let text = tool_with(
        "parameters:\n  command: {type: string, required: true}\n  n: {type: number, required: false}\n",
        SCRIPT,
    );
    let watch = hook(
        "tool.pre",
        "def handle(event, payload):\n    cache.set(\"seen\", True)\n    return block(\"the hook ran\")",
    );
    let (project, engine) = load(&[
        (".harness/tools/run_x.md", &text),
        (".harness/hooks/watch.md", &watch),
    ])
    .await;
    for arguments in [json!({}), json!({"n": 1}), json!({"Command": "ls"})] {
        project.events.clear();
        let result = engine.call(call("run_x", arguments.clone())).await;
        assert_eq!(code(&result), "tool.args.invalid_schema", "{arguments}");
        assert!(result.text().contains("command"), "{}", result.text());
        assert_eq!(project.events.names(), ["tool.rejected"], "{arguments}");
    }
    assert_eq!(
        code(&engine.call(call("run_x", json!({"command": "ls"}))).await),
        "tool.hook.blocked"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_parameters_keep_their_order_and_required_ones_are_aggregated() {
    let parameters = "parameters:\n  zebra: {type: string, required: true, description: First.}\n  apple:\n    type: number\n    required: false\n  mango: {type: boolean, required: true}\n  banana: {type: array}\n";
    for _ in 0..3 {
        let (_project, engine) =
            load(&[(".harness/tools/run_x.md", &tool_with(parameters, SCRIPT))]).await;
        let schema = only(&engine).input_schema;
        let keys: Vec<&String> = schema["properties"]
            .as_object()
            .expect("properties")
            .keys()
            .collect();
        assert_eq!(keys, ["zebra", "apple", "mango", "banana"]);
        assert_eq!(schema["required"], json!(["zebra", "mango"]));
        assert_eq!(
            schema["properties"]["zebra"],
            json!({"type": "string", "description": "First."})
        );
        assert_eq!(schema["type"], "object");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_extra_keys_are_passed_through_and_defaults_and_coercion_stay_narrow() {
    let text = tool_with(
        "parameters:\n  a: {type: string, default: none}\n",
        "def run(args):\n    return args",
    );
    let (_project, engine) = load(&[(".harness/tools/run_x.md", &text)]).await;
    let result = engine
        .call(call("run_x", json!({"b": {"c": [1, "2"]}, "": 0})))
        .await;
    assert_eq!(
        result.value,
        Some(json!({"b": {"c": [1, "2"]}, "": 0, "a": "none"})),
        "{:?}",
        result.error
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_there_is_no_global_state_across_calls() {
    for script in [
        "seen = []\ndef run(args):\n    seen.append(1)\n    return len(seen)",
        "seen = {}\ndef run(args):\n    seen[\"a\"] = seen.get(\"a\", 0) + 1\n    return seen[\"a\"]",
        "def make():\n    return []\nboxes = [make()]\ndef run(args):\n    boxes[0].append(1)\n    return len(boxes[0])",
        "def run(args, seen=[]):\n    seen.append(1)\n    return len(seen)",
    ] {
        let (_project, engine) = load(&[(".harness/tools/run_x.md", &tool(script))]).await;
        for round in 0..3 {
            let result = engine.call(call("run_x", json!({})).session("s")).await;
            assert!(
                result.is_error || result.value == Some(json!(1)),
                "round {round} of {script}: {:?}",
                result.value
            );
        }
    }
    let own = "def run(args):\n    seen = []\n    seen.append(1)\n    args[\"x\"] = 2\n    return [len(seen), args]";
    let (_project, engine) = load(&[(".harness/tools/run_x.md", &tool(own))]).await;
    for _ in 0..3 {
        let result = engine.call(call("run_x", json!({})).session("s")).await;
        assert_eq!(
            result.value,
            Some(json!([1, {"x": 2}])),
            "{:?}",
            result.error
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_the_dialect_has_no_imports_no_recursion_and_no_while() {
    for (script, expected) in [
        (
            "load(\"x.star\", \"y\")\ndef run(args):\n    return y",
            "SCRIPT_",
        ),
        ("import os\ndef run(args):\n    return 1", "SCRIPT_SYNTAX"),
        (
            "def run(args):\n    while True:\n        pass",
            "SCRIPT_SYNTAX",
        ),
        (
            "def f(n):\n    return f(n)\ndef run(args):\n    return f(1)",
            "SCRIPT_RECURSION",
        ),
        (
            "def run(args):\n    return open(\"/etc/passwd\")",
            "SCRIPT_UNKNOWN_NAME",
        ),
        (
            "def run(args):\n    return isinstance(args, dict)",
            "SCRIPT_UNKNOWN_NAME",
        ),
        ("def run(args):\n    return sys.argv", "SCRIPT_UNKNOWN_NAME"),
        (
            "def run(args):\n    return fs.chmod(\"a\", 7)",
            "SCRIPT_UNKNOWN_BUILTIN",
        ),
        ("def main(args):\n    return 1", "SCRIPT_NO_RUN"),
        ("def run():\n    return 1", "SCRIPT_ARITY"),
        ("run = 5", "SCRIPT_"),
    ] {
        let (_project, engine) = load(&[(".harness/tools/run_x.md", &tool(script))]).await;
        let found = findings(&engine, Severity::Error);
        assert!(
            found.iter().any(|found| found.starts_with(expected)),
            "{script}: {found:?}"
        );
        assert_eq!(
            code(&engine.call(call("run_x", json!({}))).await),
            "tool.not_advertised",
            "{script}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_000_results_are_json_and_errors_are_error_results() {
    for (script, expected_code, expected) in [
        (
            "return {\"ok\": True, \"x\": None, \"n\": 1.0}",
            "none",
            json!({"ok": true, "x": null, "n": 1.0}),
        ),
        ("return [1, \"é\", (2, 3)]", "none", json!([1, "é", [2, 3]])),
        ("return \"text\"", "none", json!("text")),
        ("return 7", "none", json!(7)),
        (
            "return {\"error\": \"command is required\"}",
            "tool.failed",
            json!({"error": "command is required"}),
        ),
        ("return {\"error\": \"\"}", "none", json!({"error": ""})),
        (
            "return {\"error\": {\"message\": \"m\"}}",
            "tool.failed",
            json!({"error": {"message": "m"}}),
        ),
        ("fail(\"boom\")", "tool.failed", Value::Null),
    ] {
        let (_project, engine) = load(&[(
            ".harness/tools/run_x.md",
            &tool(&format!("def run(args):\n    {script}")),
        )])
        .await;
        let result = engine.call(call("run_x", json!({}))).await;
        assert_eq!(code(&result), expected_code, "{script}: {:?}", result.error);
        assert_eq!(result.value.unwrap_or_default(), expected, "{script}");
    }
    let (_project, engine) = load(&[(
        ".harness/tools/run_x.md",
        &tool("def run(args):\n    return {\"ok\": True, \"x\": None}"),
    )])
    .await;
    assert_eq!(
        engine.call(call("run_x", json!({}))).await.text(),
        r#"{"ok":true,"x":null}"#,
        "the model reads JSON"
    );
}
