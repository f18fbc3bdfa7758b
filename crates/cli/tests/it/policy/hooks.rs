//! Hooks and arguments cannot get past policy or each other.

use super::{ALLOW, ECHO, ask, root};
use crate::support::{Project, call, code, hook, hook_with, tool, tool_with};
use serde_json::{Value, json};
use tool_harness::{Arguments, Call};

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_cannot_allow_a_denied_call_or_change_a_call_into_one() {
    let rules = root(
        "tools_policy: {deny: [other]}\npolicy:\n  tool_arg_constraints:\n    - {tool: t, arg_key: path, arg_patterns: [\"src/*\"]}\n",
    );
    let allow = hook_with("tool.pre", "priority: 1\n", ALLOW);
    let files = [
        ("harness.md", rules.as_str()),
        (".harness/tools/t.md", &tool(ECHO)),
        (".harness/tools/other.md", &tool(ECHO)),
        (".harness/hooks/yes.md", &allow),
    ];
    assert_eq!(code(&ask(&files, "other", json!({})).await), "tool.denied");
    assert_eq!(
        code(&ask(&files, "t", json!({"path": "etc"})).await),
        "tool.denied"
    );
    assert_eq!(
        code(&ask(&files, "t", json!({"path": "src/a"})).await),
        "none"
    );
    for (returned, expected) in [
        ("{\"args\": {\"path\": \"etc\"}}", "tool.denied"),
        ("{\"args\": {\"path\": \"src/../etc\"}}", "tool.denied"),
        (
            "{\"args\": {\"path\": [\"src/a\", \"etc\"]}}",
            "tool.denied",
        ),
        ("{\"args\": {\"path\": 7}}", "tool.denied"),
        ("{\"args\": {\"path\": \"src/b\"}}", "none"),
        ("{\"name\": \"other\"}", "tool.hook.failed"),
        ("{\"tool_name\": \"other\"}", "tool.hook.failed"),
        ("{\"tool\": {\"name\": \"other\"}}", "tool.hook.failed"),
        ("{\"mode\": \"free\"}", "tool.hook.failed"),
        ("{\"call_id\": \"x\"}", "tool.hook.failed"),
        ("{\"session_id\": \"x\"}", "tool.hook.failed"),
        ("{\"effects\": [\"write\"]}", "tool.hook.failed"),
        ("{\"sandbox\": \"off\"}", "tool.hook.failed"),
        ("{\"raw_arguments\": \"{}\"}", "tool.hook.failed"),
        ("{\"args\": [1]}", "tool.hook.failed"),
        ("{\"args\": None}", "tool.hook.failed"),
    ] {
        let change = hook(
            "tool.pre",
            &format!("def handle(event, payload):\n    return modify({returned})"),
        );
        let files = [
            ("harness.md", rules.as_str()),
            (".harness/tools/t.md", &tool(ECHO)),
            (".harness/hooks/change.md", &change),
        ];
        let result = ask(&files, "t", json!({"path": "src/a"})).await;
        assert_eq!(code(&result), expected, "{returned}: {:?}", result.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modify_hook_does_not_disable_the_guards_after_it() {
    let change = hook_with(
        "tool.pre",
        "priority: 1\n",
        "def handle(event, payload):\n    return modify({\"args\": {\"command\": \"rm -rf /\"}})",
    );
    for (when, key) in [
        ("payload[\"name\"] == \"t\"", "args"),
        ("payload[\"tool_name\"] == \"t\"", "arguments"),
        ("payload[\"tool\"][\"name\"] == \"t\"", "args"),
        (
            "event == \"tool.pre\" and payload[\"id\"] == payload[\"call_id\"]",
            "args",
        ),
    ] {
        let script = format!(
            "def handle(event, payload):\n    if \"rm -rf\" in payload[\"{key}\"][\"command\"]:\n        return block(\"no\")\n    return allow()"
        );
        let guard = hook_with("tool.pre", &format!("when: '{when}'\n"), &script);
        let files = [
            (".harness/tools/t.md", tool(ECHO)),
            (".harness/hooks/change.md", change.clone()),
            (".harness/hooks/guard.md", guard),
        ];
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        let result = ask(&files, "t", json!({"command": "ls"})).await;
        assert_eq!(
            code(&result),
            "tool.hook.blocked",
            "{when}: {:?}",
            result.value
        );
        assert!(
            result
                .error
                .is_some_and(|error| error.message.contains("`guard`"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guards_that_read_either_spelling_of_the_arguments_both_guard() {
    for key in ["args", "arguments"] {
        let script = format!(
            "def handle(event, payload):\n    if \"rm -rf\" in payload.get(\"{key}\", {{}}).get(\"command\", \"\"):\n        return block(\"no\")\n    return allow()"
        );
        let files = [
            (".harness/tools/t.md", tool(ECHO)),
            (".harness/hooks/guard.md", hook("tool.pre", &script)),
        ];
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        assert_eq!(
            code(&ask(&files, "t", json!({"command": "rm -rf /"})).await),
            "tool.hook.blocked",
            "{key}"
        );
        assert_eq!(
            code(&ask(&files, "t", json!({"command": "ls"})).await),
            "none",
            "{key}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_from_a_model_cannot_forge_payload_plan_or_injected_values() {
    let look = hook(
        "tool.pre",
        "def handle(event, payload):\n    if payload[\"name\"] != \"t\" or payload[\"mode\"] != \"default\" or \"write\" in payload[\"effects\"]:\n        return block(\"forged\")\n    return allow()",
    );
    let text = tool_with(
        "inject: {who: session_id, run: run_id}\nannotations: {arg_schema: {arg_aliases: {user: who}}}\n",
        ECHO,
    );
    let project = Project::new(&[
        (".harness/tools/t.md", &text),
        (".harness/hooks/look.md", &look),
    ]);
    let engine = project.engine().await;
    for forged in [
        json!({"name": "other", "tool_name": "other", "mode": "free", "effects": ["write"]}),
        json!({"action": "allow", "decision": "allow", "tool": {"name": "other"}}),
        json!({"sandbox": "off", "cwd": "/", "timeout_ms": 0, "session_id": "x"}),
    ] {
        let result = engine.call(call("t", forged.clone()).session("real")).await;
        let value = result
            .value
            .unwrap_or_else(|| panic!("{forged}: {:?}", result.error));
        assert_eq!(
            (&value["who"], value["run"].is_string()),
            (&json!("real"), true),
            "{forged}"
        );
    }
    for forged in [
        json!({"who": "admin"}),
        json!({"run": "x"}),
        json!({"who": null}),
        json!({"user": "admin"}),
    ] {
        let result = engine.call(call("t", forged.clone())).await;
        assert_eq!(
            code(&result),
            "tool.args.invalid_schema",
            "{forged}: {:?}",
            result.value
        );
    }
    let twice = Call::new(
        "t",
        Arguments::Text(r#"{"a": 1, "who": "admin", "a": 2}"#.into()),
    );
    assert_eq!(code(&engine.call(twice).await), "tool.args.invalid_schema");
    let offered = engine.surface("default").expect("a surface").tools;
    let schema = offered
        .iter()
        .find(|tool| tool.name == "t")
        .expect("it is offered")
        .input_schema
        .to_string();
    assert!(
        !schema.contains("who") && !schema.contains("\"run\""),
        "{schema}"
    );
    assert!(
        !project
            .events
            .all()
            .iter()
            .any(|event| format!("{:?}", event.fields()).contains("admin")),
        "a forged value is in an event"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_cannot_set_values_that_the_harness_injects() {
    let text = tool_with("inject: {who: session_id}\n", ECHO);
    let change = hook(
        "tool.pre",
        "def handle(event, payload):\n    return modify({\"args\": {\"who\": \"admin\"}})",
    );
    let project = Project::new(&[
        (".harness/tools/t.md", &text),
        (".harness/hooks/change.md", &change),
    ]);
    let result = project
        .engine()
        .await
        .call(call("t", json!({})).session("real"))
        .await;
    assert_ne!(result.value, Some(json!({"who": "admin"})));
    assert!(
        result.is_error || result.value == Some(json!({"who": "real"})),
        "{:?}",
        result.value
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn extra_arguments_pass_unless_the_tool_forbids_them() {
    let fields = "parameters:\n  a: {type: string, required: true}\n";
    let loose = tool_with(fields, ECHO);
    let strict = tool_with(&format!("{fields}strict: true\n"), ECHO);
    let project = Project::new(&[
        (".harness/tools/run_loose.md", &loose),
        (".harness/tools/run_strict.md", &strict),
    ]);
    let engine = project.engine().await;
    let extra = json!({"a": "x", "b": 1});
    assert_eq!(
        engine.call(call("run_loose", extra.clone())).await.value,
        Some(extra.clone())
    );
    for arguments in [
        extra,
        json!({"a": "x", "__proto__": {}}),
        json!({"a": "x", "": 1}),
        json!({"a": "x", "A": "x"}),
    ] {
        let result = engine.call(call("run_strict", arguments.clone())).await;
        assert_eq!(code(&result), "tool.args.invalid_schema", "{arguments}");
    }
    assert!(
        !engine
            .call(call("run_strict", json!({"a": "x"})))
            .await
            .is_error
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_cannot_write_files_run_programs_or_use_the_network() {
    for expression in [
        "fs.write(\"x\", \"y\")",
        "fs.append(\"x\", \"y\")",
        "fs.remove(\"a.txt\")",
        "fs.move(\"a.txt\", \"x\")",
        "fs.copy(\"a.txt\", \"x\")",
        "fs.mkdir(\"x\")",
        "fs.replace_all(\"a.txt\", \"a\", \"b\")",
        "state.set(\"k\", 1)",
        "state.increment(\"k\")",
        "exec.run(\"touch\", [\"x\"])",
        "meta.call_tool(\"t\", {})",
        "getattr(fs, \"write\")(\"x\", \"y\")",
        "[m for m in [fs]][0].write(\"x\", \"y\")",
    ] {
        let script = format!("def handle(event, payload):\n    {expression}\n    return allow()");
        let project = Project::new(&[
            (".harness/tools/t.md", &tool(ECHO)),
            (".harness/hooks/guard.md", &hook("tool.pre", &script)),
            ("a.txt", "a"),
        ]);
        let engine = project.engine().await;
        let result = engine.call(call("t", json!({})).session("s")).await;
        assert_eq!(
            code(&result),
            "tool.hook.failed",
            "{expression}: {:?}",
            result.value
        );
        assert!(!project.path().join("x").exists(), "{expression}");
        assert_eq!(
            std::fs::read_to_string(project.path().join("a.txt")).expect("there"),
            "a",
            "{expression}"
        );
    }
    let reading = "def handle(event, payload):\n    if fs.read(\"a.txt\") == \"a\" and state.get(\"k\") == None:\n        return allow()\n    return block(\"cannot read\")";
    let files = [
        (".harness/tools/t.md", tool(ECHO)),
        (".harness/hooks/guard.md", hook("tool.pre", reading)),
        ("a.txt", "a".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    assert_eq!(code(&ask(&files, "t", json!({})).await), "none");
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_overrides_conditions_and_dependencies_of_a_bundle_take_effect() {
    let bundle = |fields: &str, kind: &str, script: &str| {
        let script = script.replace('\n', "\n      ");
        format!(
            "---\n{fields}{kind}:\n  - name: t\n    event: tool.pre\n    script: |\n      {script}\n---\n"
        )
    };
    let says = |word: &str| format!("def run(args):\n    return \"{word}\"");
    let tools = |fields: &str, word: &str| {
        bundle(fields, "tools", &says(word)).replace("    event: tool.pre\n", "")
    };
    let guard = bundle(
        "",
        "hooks",
        "def handle(event, payload):\n    return block(\"from the bundle\")",
    );
    let result = ask(
        &[
            (".harness/tools/t.md", &tool(ECHO)),
            (".harness/plugins/p.md", &guard),
        ],
        "t",
        json!({}),
    )
    .await;
    assert_eq!(code(&result), "tool.hook.blocked", "{:?}", result.value);
    let replaced = tools("", "replaced");
    let result = ask(
        &[
            (".harness/tools/t.md", &tool(ECHO)),
            (".harness/overrides/o.md", &replaced),
        ],
        "t",
        json!({}),
    )
    .await;
    assert_eq!(result.value, Some(json!("replaced")), "{:?}", result.error);
    for (field, expected) in [
        ("condition: \"False\"\n", "tool.unknown"),
        ("condition: \"True\"\n", "none"),
        ("depends_on: [nowhere]\n", "tool.not_advertised"),
    ] {
        let project = Project::new(&[(".harness/plugins/p.md", &tools(field, "x"))]);
        let result = project.engine().await.call(call("t", json!({}))).await;
        assert_eq!(code(&result), expected, "{field}: {:?}", result.value);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_with_too_many_values_are_refused_before_hooks_and_large_ones_pass() {
    let script = tool("def run(args):\n    return len(args[\"a\"])");
    let project = Project::new(&[
        (".harness/tools/t.md", &script),
        (".harness/hooks/yes.md", &hook("tool.pre", ALLOW)),
    ]);
    let engine = project.engine().await;
    for (values, expected) in [(100_000, "none"), (2_000_000, "tool.args.malformed_json")] {
        let result = engine
            .call(call("t", json!({"a": vec![Value::Null; values]})))
            .await;
        assert_eq!(
            code(&result),
            expected,
            "{values}: {:?}",
            result.error.as_ref().map(|error| &error.message)
        );
    }
}
