//! What a hook decides about a call and its result.

use super::{ECHO, project};
use crate::support::{Project, call, code, hook, hook_with, tool, tool_with};
use serde_json::{Value, json};

async fn outcome(hooks: &[(&str, String)], arguments: Value) -> (String, Option<Value>, String) {
    let project = project(hooks);
    let engine = project.engine().await;
    let result = engine.call(call("run_echo", arguments)).await;
    (
        code(&result).to_owned(),
        result.value,
        result
            .error
            .map(|error| error.into_grounds().message)
            .unwrap_or_default(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn every_payload_spelling_is_present_with_the_same_value() {
    let script = r#"
def handle(event, payload):
    a = payload["args"]
    same = a == payload["arguments"] and a == payload["tool"]["args"]
    named = payload["name"] == payload["tool_name"] and payload["name"] == payload["tool"]["name"]
    ids = payload["id"] == payload["call_id"]
    raw = json.decode(payload["raw_arguments"]) == a
    if same and named and ids and raw and event == "tool.pre":
        return block("all there")
    return allow()
"#;
    let (code, _, message) = outcome(&[("look", hook("tool.pre", script))], json!({"a": 1})).await;
    assert_eq!(code, "tool.hook.blocked", "{message}");
    assert!(message.contains("`look`") && message.contains("all there"));
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_post_sees_the_result_in_every_spelling_and_may_amend_it() {
    let script = r#"
def handle(event, payload):
    seen = [payload["content"], payload["result"], payload["is_error"], payload["error"], payload["args"]]
    return modify({"result": {"seen": seen}})
"#;
    let (code, value, _) = outcome(&[("shape", hook("tool.post", script))], json!({"a": 1})).await;
    assert_eq!(code, "none");
    assert_eq!(
        value,
        Some(json!({"seen": ["{\"a\":1}", {"a": 1}, false, "", {"a": 1}]}))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_post_may_withhold_mark_and_reword() {
    for (script, expected_code, expected_text) in [
        (
            "return block(\"secret inside\")",
            "tool.hook.blocked",
            "secret inside",
        ),
        (
            "return modify({\"is_error\": True})",
            "tool.failed",
            "marked the result",
        ),
        ("return modify({\"content\": \"short\"})", "none", "short"),
        (
            "return modify({\"name\": \"other\"})",
            "tool.hook.failed",
            "changed `name`",
        ),
    ] {
        let project = project(&[(
            "post",
            hook(
                "tool.post",
                &format!("def handle(event, payload):\n    {script}"),
            ),
        )]);
        let result = project
            .engine()
            .await
            .call(call("run_echo", json!({"a": 1})))
            .await;
        assert_eq!(code(&result), expected_code, "{script}");
        assert!(
            result.text().contains(expected_text),
            "{script}: {}",
            result.text()
        );
        assert_eq!(
            result.value.is_none(),
            expected_code.starts_with("tool.hook"),
            "{script}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_of_decision_works() {
    for (returned, expected) in [
        ("allow()", "none"),
        ("{\"action\": \"allow\"}", "none"),
        ("{\"action\": \"continue\"}", "none"),
        ("block(\"no\")", "tool.hook.blocked"),
        (
            "{\"action\": \"block\", \"reason\": \"no\"}",
            "tool.hook.blocked",
        ),
        ("ask(\"sure?\")", "tool.approval.denied"),
        ("modify({\"args\": {\"a\": 2}})", "none"),
        ("modify(payload)", "none"),
        (
            "{\"action\": \"modify\", \"payload\": {\"arguments\": {\"a\": 2}}}",
            "none",
        ),
        (
            "modify({\"args\": {\"a\": 2}, \"arguments\": {\"a\": 3}})",
            "tool.hook.failed",
        ),
        ("modify({\"name\": \"other\"})", "tool.hook.failed"),
        ("delegate({\"task\": \"x\"})", "tool.hook.failed"),
    ] {
        let (code, value, message) = outcome(
            &[(
                "decide",
                hook(
                    "tool.pre",
                    &format!("def handle(event, payload):\n    x = {returned}\n    return x"),
                ),
            )],
            json!({"a": 1}),
        )
        .await;
        assert_eq!(code, expected, "{returned}: {message}");
        if returned.contains("{\"a\": 2}") && expected == "none" {
            assert_eq!(value, Some(json!({"a": 2})), "{returned}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_in_any_way_blocks_and_names_itself() {
    for (script, word) in [
        ("fail(\"broken guard\")", "broken guard"),
        ("[i for i in range(1000000000)]", ""),
        ("x = 42\n    return x", "42"),
        ("x = None\n    return x", "None"),
        ("x = True\n    return x", "true"),
        ("[0] * 1000000000", "memory"),
        ("payload[\"args\"][\"nope\"]", "nope"),
    ] {
        // Only the loop ends at its deadline.
        let timeout_ms = if script.contains("range") {
            300
        } else {
            20_000
        };
        let guard = hook_with(
            "tool.pre",
            &format!("timeout_ms: {timeout_ms}\nwhen: payload[\"args\"].get(\"trip\")\n"),
            &format!("def handle(event, payload):\n    {script}\n    return allow()"),
        );
        let fine = hook_with(
            "tool.pre",
            "priority: 1\n",
            "def handle(event, payload):\n    return allow()",
        );
        let project = project(&[("guard", guard), ("fine", fine)]);
        let engine = project.engine().await;
        let started = std::time::Instant::now();
        let result = engine.call(call("run_echo", json!({"trip": true}))).await;
        assert_eq!(
            code(&result),
            "tool.hook.failed",
            "{script}: {:?}",
            result.error
        );
        assert!(
            started.elapsed() < crate::support::program::SOON,
            "{script} took {:?}",
            started.elapsed()
        );
        let message = result.error.expect("an error").into_grounds().message;
        assert!(
            message.contains("`guard`") && message.contains(word),
            "{script}: {message}"
        );
        let result = engine.call(call("run_echo", json!({"a": 1}))).await;
        assert!(!result.is_error, "after {script}: {:?}", result.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_error_allow_lets_the_call_through_and_records_the_failure() {
    let project = project(&[(
        "audit",
        hook_with(
            "tool.pre",
            "on_error: allow\n",
            "def handle(event, payload):\n    fail(\"down\")",
        ),
    )]);
    let result = project
        .engine()
        .await
        .call(call("run_echo", json!({"a": 1})))
        .await;
    assert!(!result.is_error);
    let events = project.events.all();
    let failed = events
        .iter()
        .find(|event| event.name() == "hook.decided")
        .expect("recorded");
    assert_eq!(failed.fields()["action"], "failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_block_wins_lower_priority_first_and_later_hooks_see_the_changed_arguments() {
    let project = project(&[
        (
            "z_first",
            hook_with(
                "tool.pre",
                "priority: 1\n",
                "def handle(event, payload):\n    return modify({\"args\": {\"a\": 2}})",
            ),
        ),
        (
            "a_second",
            hook_with(
                "tool.pre",
                "priority: 2\n",
                "def handle(event, payload):\n    if payload[\"args\"][\"a\"] == 2 and payload[\"name\"] == \"run_echo\":\n        return block(\"saw two\")\n    return allow()",
            ),
        ),
        (
            "b_third",
            hook(
                "tool.pre",
                "def handle(event, payload):\n    return block(\"too late\")",
            ),
        ),
    ]);
    let result = project
        .engine()
        .await
        .call(call("run_echo", json!({"a": 1})))
        .await;
    let message = result.error.expect("blocked").into_grounds().message;
    assert!(
        message.contains("`a_second`") && message.contains("saw two"),
        "{message}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_arguments_are_validated_and_authorized_again() {
    let strict = tool_with(
        "parameters:\n  path: {type: string, required: true}\nannotations: {arg_schema: {path_params: [path]}}\nstrict: true\n",
        ECHO,
    );
    let root = "---\nformat: 1\npolicy:\n  tool_arg_constraints:\n    - {tool: \"run_*\", arg_key: path, arg_patterns: [\"src/**\"]}\n---\n";
    for (change, expected) in [
        ("{\"path\": \"src/b\"}", "none"),
        ("{\"path\": 7}", "tool.args.invalid_schema"),
        ("{}", "tool.args.invalid_schema"),
        (
            "{\"path\": \"src/b\", \"extra\": 1}",
            "tool.args.invalid_schema",
        ),
        ("{\"path\": \"etc/passwd\"}", "tool.denied"),
        ("{\"path\": \"src/../etc/passwd\"}", "tool.denied"),
    ] {
        let guard = hook(
            "tool.pre",
            &format!("def handle(event, payload):\n    return modify({{\"args\": {change}}})"),
        );
        let project = Project::new(&[
            ("harness.md", root),
            (".harness/tools/run_echo.md", &strict),
            (".harness/hooks/change.md", &guard),
        ]);
        let result = project
            .engine()
            .await
            .call(call("run_echo", json!({"path": "src/a"})))
            .await;
        assert_eq!(code(&result), expected, "{change}: {:?}", result.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_removes_from_content_or_result_is_in_neither() {
    let get = tool("def run(args):\n    return {\"note\": \"the secret\", \"n\": 1}");
    let words = "result(content = \"here is the secret\", data = {\"note\": \"the secret\"})";
    let say = tool(&format!("def run(args):\n    return {words}"));
    let failing =
        tool("def run(args):\n    return {\"error\": \"no secret\", \"note\": \"the secret\"}");
    let post = |script: &str| {
        hook(
            "tool.post",
            &format!("def handle(event, payload):\n    {script}"),
        )
    };
    let content =
        post("return modify({\"content\": payload[\"content\"].replace(\"secret\", \"***\")})");
    let result = post("return modify({\"result\": {\"note\": \"***\"}})");
    let hint = post("return modify({\"content\": payload[\"content\"] + \" (hint)\"})");
    let both = post("return modify({\"content\": \"short\", \"result\": {\"n\": 1}})");
    for (text, hooks, value, shown) in [
        (
            &get,
            vec![&content],
            Some(Value::Null),
            "{\"note\":\"the ***\",\"n\":1}",
        ),
        (
            &get,
            vec![&result],
            Some(json!({"note": "***"})),
            "{\"note\":\"***\"}",
        ),
        (
            &get,
            vec![&result, &hint],
            Some(Value::Null),
            "{\"note\":\"***\"} (hint)",
        ),
        (
            &get,
            vec![&content, &result],
            Some(json!({"note": "***"})),
            "{\"note\":\"***\"}",
        ),
        (&get, vec![&both], Some(json!({"n": 1})), "short"),
        (&say, vec![&content], Some(Value::Null), "here is the ***"),
        (
            &say,
            vec![&result],
            Some(json!({"note": "***"})),
            "{\"note\":\"***\"}",
        ),
        (
            &failing,
            vec![&content],
            Some(Value::Null),
            "tool.failed: `t` failed: no ***",
        ),
    ] {
        let mut files = vec![(".harness/tools/t.md".to_owned(), text.clone())];
        files.extend(
            hooks
                .iter()
                .enumerate()
                .map(|(index, text)| (format!(".harness/hooks/h{index}.md"), (*text).clone())),
        );
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let outcome = Project::new(&files)
            .engine()
            .await
            .call(call("t", json!({})))
            .await;
        assert_eq!(
            (outcome.value.as_ref(), outcome.text().as_str()),
            (value.as_ref(), shown),
            "{text}\n{hooks:?}"
        );
        assert!(
            !outcome.to_json().to_string().contains("secret"),
            "{}",
            outcome.to_json()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_removes_a_required_result_gets_told_what_is_missing() {
    let strict = tool_with(
        "output_schema: { type: object }\n",
        "def run(args):\n    return {\"n\": 1}",
    );
    let reword = hook(
        "tool.post",
        "def handle(event, payload):\n    return modify({\"content\": \"short\"})",
    );
    let project = Project::new(&[
        (".harness/tools/t.md", &strict),
        (".harness/hooks/reword.md", &reword),
    ]);
    let outcome = project.engine().await.call(call("t", json!({}))).await;
    assert_eq!(code(&outcome), "tool.output.invalid_schema");
    let help = outcome
        .error
        .and_then(|error| error.into_grounds().help)
        .unwrap_or_default();
    assert!(help.contains("must give `result` as well"), "{help}");
}
