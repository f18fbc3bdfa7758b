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

/// A tool that fails in the way it is told.
const FAILING: &str = r#"
def run(args):
    how = args["how"]
    if how == "raise":
        fail("no host hunter2")
    if how == "dict":
        return {"error": "no host hunter2", "seen": 1}
    if how == "code":
        return error("NO_HOST", "no host hunter2")
    if how == "marked":
        return result(content = "no host hunter2", is_error = True)
    if how == "text":
        return result(content = "a host hunter2")
    return {"host": "hunter2"}
"#;

fn failing(hooks: &[(&str, &str)]) -> Project {
    let mut files = vec![(".harness/tools/find_host.md".to_owned(), tool(FAILING))];
    for (name, script) in hooks {
        files.push((
            format!(".harness/hooks/{name}.md"),
            hook("tool.post", script),
        ));
    }
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    Project::new(&files)
}

#[tokio::test(flavor = "multi_thread")]
async fn audit_hooks_that_take_the_error_and_the_result_for_text_leave_the_tools_own_error() {
    let audit = r#"
def handle(event, payload):
    err = payload.get("error", "")
    if err:
        log("error=" + err + " code=" + payload["error_code"])
    log("bytes=" + str(len(payload["result"])) + " " + payload["content"].lower())
    if payload["is_error"] and payload["error_details"].get("code") == "NO_HOST":
        log("known")
    return allow()
"#;
    let project = failing(&[("audit", audit)]);
    let engine = project.engine().await;
    for how in ["raise", "dict", "code", "marked"] {
        let result = engine.call(call("find_host", json!({"how": how}))).await;
        assert_eq!(code(&result), "tool.failed", "{how}: {:?}", result.error);
        assert!(
            result.text().contains("no host"),
            "{how}: {}",
            result.text()
        );
    }
    for how in ["text", "value"] {
        let result = engine.call(call("find_host", json!({"how": how}))).await;
        assert_eq!(code(&result), "none", "{how}: {:?}", result.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hooks_see_of_a_failed_call_and_of_one_that_did_not_fail() {
    let tell = r#"
def handle(event, payload):
    if payload["is_error"] and payload["result"] == payload["content"]:
        said = "text"
    else:
        said = payload["result"]
    return modify({"is_error": False, "result": [said, payload["error"], payload["error_code"], payload["error_details"]]})
"#;
    let project = failing(&[("tell", tell)]);
    let engine = project.engine().await;
    for (how, expected) in [
        ("raise", json!("`find_host` failed: no host hunter2")),
        ("code", json!("`find_host` failed: no host hunter2")),
    ] {
        let result = engine.call(call("find_host", json!({"how": how}))).await;
        let seen = result.value.expect("a value");
        assert_eq!(
            (&seen[0], &seen[1], &seen[2]),
            (&json!("text"), &expected, &json!("tool.failed")),
            "{how}"
        );
        assert_eq!(seen[3].get("code").is_some(), how == "code", "{seen}");
    }
    let dict = engine.call(call("find_host", json!({"how": "dict"}))).await;
    assert_eq!(
        dict.value.expect("a value")[0],
        json!({"error": "no host hunter2", "seen": 1})
    );
    let fine = engine
        .call(call("find_host", json!({"how": "value"})))
        .await;
    assert_eq!(fine.value, Some(json!([{"host": "hunter2"}, "", "", {}])));
}

/// A redactor that changes `result`, as hooks of other harnesses do, one that changes `content`, and
/// what the next hook sees: neither leaves the secret anywhere.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_hook_removes_from_a_failed_call_is_in_no_part_of_it() {
    let by_result = r#"
def handle(event, payload):
    r = payload["result"]
    if type(r) == "dict":
        return modify({"result": {k: str(v).replace("hunter2", "***") for k, v in r.items()}})
    return modify({"result": r.replace("hunter2", "***")})
"#;
    let by_content = r#"
def handle(event, payload):
    return modify({"content": payload["content"].replace("hunter2", "***")})
"#;
    let next = r#"
def handle(event, payload):
    if "hunter2" in str(payload["result"]) + payload["content"] + payload["error"] + str(payload["error_details"]):
        return block("LEFT OVER")
    return allow()
"#;
    for (name, redactor) in [("by_result", by_result), ("by_content", by_content)] {
        let project = failing(&[("a_redact", redactor), ("b_next", next)]);
        let engine = project.engine().await;
        for how in ["raise", "dict", "code", "marked", "text", "value"] {
            let result = engine.call(call("find_host", json!({"how": how}))).await;
            let shown = result.to_json().to_string();
            assert!(
                !shown.contains("hunter2") && !shown.contains("LEFT OVER"),
                "{name} {how}: {shown}"
            );
            assert!(shown.contains("***"), "{name} {how}: {shown}");
            let is_failed = !matches!(how, "text" | "value");
            assert_eq!(
                code(&result),
                if is_failed { "tool.failed" } else { "none" },
                "{name} {how}: {shown}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_a_hook_accepts_keeps_its_text() {
    let accept = "def handle(event, payload):\n    return modify({\"is_error\": False})";
    let project = failing(&[("accept", accept)]);
    let result = project
        .engine()
        .await
        .call(call("find_host", json!({"how": "raise"})))
        .await;
    assert!(
        !result.is_error && result.text().contains("no host"),
        "{}",
        result.text()
    );
}
