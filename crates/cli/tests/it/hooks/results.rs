//! A hook on `tool.post` that fails withholds the result.

use crate::support::{Project, call, code, hook, hook_with, tool};
use serde_json::json;
use tool_harness::ToolResult;

const SECRET: &str = "hunter2";

/// One call of the tool of that body, with one hook on its result.
async fn outcome(body: &str, post: &str) -> (ToolResult, Project) {
    let project = Project::new(&[
        (
            ".harness/tools/get_login.md",
            &tool(&format!("def run(args):\n    return {body}")),
        ),
        (".harness/hooks/redact.md", post),
    ]);
    let result = project
        .engine()
        .await
        .call(call("get_login", json!({})))
        .await;
    (result, project)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_hook_that_fails_in_any_way_withholds_the_result() {
    for (script, word) in [
        ("fail(\"broken redactor\")", "broken redactor"),
        ("[i for i in range(1000000000)]", ""),
        ("[0] * 1000000000", "memory"),
        ("x = 42\n    return x", "42"),
        ("payload[\"args\"][\"nope\"]", "nope"),
    ] {
        let script = format!("def handle(event, payload):\n    {script}\n    return allow()");
        let timeout_ms = if script.contains("range") {
            300
        } else {
            20_000
        };
        let field = format!("timeout_ms: {timeout_ms}\n");
        let (result, _) = outcome(
            &format!("{{\"password\": \"{SECRET}\"}}"),
            &hook_with("tool.post", &field, &script),
        )
        .await;
        assert_eq!(code(&result), "tool.hook.failed", "{script}");
        assert!(result.value.is_none(), "{script}");
        let told = result.to_json().to_string();
        assert!(!told.contains(SECRET), "{script}: {told}");
        let error = result.error.expect("an error").into_grounds();
        assert!(
            error.message.contains("`redact`")
                && error.message.contains("its result is withheld")
                && error.message.contains(word),
            "{script}: {}",
            error.message
        );
        let help = error.help.unwrap_or_default();
        assert!(help.contains("the call itself has run"), "{help}");

        let open = format!("{field}on_error: allow\n");
        let (result, project) = outcome(
            &format!("{{\"password\": \"{SECRET}\"}}"),
            &hook_with("tool.post", &open, &script),
        )
        .await;
        assert_eq!(code(&result), "none", "{script} with `on_error: allow`");
        assert!(result.text().contains(SECRET));
        let warned = project.events.all().iter().any(|event| {
            event.name() == "log"
                && event.fields()["message"]
                    .as_str()
                    .is_some_and(|message| message.contains("was passed over"))
        });
        assert!(warned, "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_hook_that_decides_lets_the_result_through() {
    for script in ["return allow()", "return None", "log.info(\"seen\")"] {
        let script = format!("def handle(event, payload):\n    {script}");
        let (result, _) = outcome("{\"n\": 1}", &hook("tool.post", &script)).await;
        assert_eq!(result.value, Some(json!({"n": 1})), "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redactor_that_expects_text_never_lets_a_dict_out() {
    let on = |key: &str| {
        hook(
            "tool.post",
            &format!(
                "def handle(event, payload):\n    if \"password\" in payload[\"{key}\"].lower():\n        return modify({{\"{key}\": \"hidden\"}})\n    return allow()"
            ),
        )
    };
    for (body, key, expected) in [
        ("{\"password\": \"hunter2\"}", "result", "tool.hook.failed"),
        ("[\"password\", \"hunter2\"]", "result", "tool.hook.failed"),
        ("\"password: hunter2\"", "result", "none"),
        ("{\"password\": \"hunter2\"}", "content", "none"),
        ("\"password: hunter2\"", "content", "none"),
    ] {
        let (result, _) = outcome(body, &on(key)).await;
        assert_eq!(code(&result), expected, "{body} {key}");
        let told = result.to_json().to_string();
        assert!(!told.contains(SECRET), "{body} {key}: {told}");
    }
    for (body, key) in [("\"fine\"", "result"), ("{\"fine\": 1}", "content")] {
        let (result, _) = outcome(body, &on(key)).await;
        assert_eq!(code(&result), "none", "{body}");
        assert!(result.text().contains("fine"), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_on_another_event_is_passed_over_with_a_warning() {
    let project = Project::new(&[
        (
            ".harness/tools/get_login.md",
            &tool("def run(args):\n    emit(\"seen\")\n    return {\"n\": 1}"),
        ),
        (
            ".harness/hooks/watch.md",
            &hook(
                "custom.seen",
                "def handle(event, payload):\n    fail(\"broken\")",
            ),
        ),
    ]);
    let engine = project.engine().await;
    let result = engine.call(call("get_login", json!({}))).await;
    assert_eq!(result.value, Some(json!({"n": 1})));
    let warned = project.events.all().iter().any(|event| {
        event.name() == "log"
            && event.fields()["message"]
                .as_str()
                .is_some_and(|message| message.contains("`watch` failed on `custom.seen`"))
    });
    assert!(warned);
}
