//! A hook's payload is its own copy, and a hook without a script is the host's.

use super::project;
use crate::support::{Project, call, code, hook, hook_with};
use serde_json::json;
use tool_harness::middleware::{Decision, Judged, Middleware, Step};

fn warnings(project: &Project) -> Vec<String> {
    let events = project.events.all();
    let logs = events.iter().filter(|event| event.name() == "log");
    logs.filter_map(|event| event.fields()["message"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_changed_in_place_changes_nothing_until_it_is_returned() {
    for (last, expected, warned) in [
        ("return allow()", json!({"a": 1}), true),
        ("return {\"action\": \"continue\"}", json!({"a": 1}), true),
        (
            "return modify(payload)",
            json!({"a": 2, "b": [1, 3]}),
            false,
        ),
        (
            "return modify({\"arguments\": payload[\"args\"]})",
            json!({"a": 2, "b": [1, 3]}),
            false,
        ),
    ] {
        let change = hook_with(
            "tool.pre",
            "priority: 1\n",
            &format!(
                "def handle(event, payload):\n    payload[\"args\"][\"a\"] = 2\n    payload[\"args\"].setdefault(\"b\", [1]).append(3)\n    {last}"
            ),
        );
        // It sees what the call would run with.
        let look = hook(
            "tool.pre",
            "def handle(event, payload):\n    log.info(json.encode(payload[\"tool\"][\"args\"]))\n    return allow()",
        );
        let project = project(&[("change", change), ("look", look)]);
        let result = project
            .engine()
            .await
            .call(call("run_echo", json!({"a": 1})))
            .await;
        assert_eq!(result.value, Some(expected.clone()), "{last}");
        let logged = warnings(&project);
        assert!(logged.contains(&expected.to_string()), "{last}: {logged:?}");
        assert_eq!(
            logged.iter().any(|message| message.contains("`change`")
                && message.contains("return `modify(payload)`")),
            warned,
            "{last}: {logged:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_changed_in_place_is_returned_or_left_with_a_warning() {
    for (last, expected, warned) in [
        ("return None", "{\"a\":1}", true),
        ("return modify(payload)", "short", false),
    ] {
        let post = hook(
            "tool.post",
            &format!(
                "def handle(event, payload):\n    payload[\"content\"] = \"short\"\n    {last}"
            ),
        );
        let project = project(&[("post", post)]);
        let result = project
            .engine()
            .await
            .call(call("run_echo", json!({"a": 1})))
            .await;
        assert_eq!(result.text(), expected, "{last}");
        assert_eq!(!warnings(&project).is_empty(), warned, "{last}");
    }
}

/// Blocks every call.
struct Guard;

impl Middleware for Guard {
    fn name(&self) -> &str {
        "guard_calls"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        Decision::Refuse("the host says no".to_owned()).into()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_without_a_script_is_the_hosts_middleware_or_does_nothing() {
    let file = "---\nevent: tool.pre\n---\nThe host guards calls.\n".to_owned();
    let project = project(&[("guard_calls", file)]);
    let found = |engine: &tool_harness::Engine| {
        let codes = engine.diagnostics().iter().map(|found| found.code);
        codes.filter(|code| *code == "HOOK_WITHOUT_SCRIPT").count()
    };
    let alone = project.engine().await;
    assert_eq!(found(&alone), 1);
    let result = alone.call(call("run_echo", json!({"a": 1}))).await;
    assert_eq!(code(&result), "none", "it blocks nothing");

    let served = project.builder().middleware(Guard).load().await;
    let served = served.expect("an engine");
    assert_eq!(found(&served), 0);
    let result = served.call(call("run_echo", json!({"a": 1}))).await;
    assert_eq!(code(&result), "tool.hook.blocked");
}
