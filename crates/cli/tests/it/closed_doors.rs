//! Holes that once existed: each was found by an attempt to get past a guard.

use crate::support::{Project, call, code, hook, tool};
use serde_json::json;

const ECHO: &str = "def run(args):\n    return args";

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_folder_that_is_a_broken_link_blocks() {
    for folder in ["hooks", "plugins", "builtins", "overrides"] {
        let project = Project::new(&[(".harness/tools/t.md", &tool(ECHO))]);
        std::os::unix::fs::symlink(
            "../not-checked-out",
            project.path().join(".harness").join(folder),
        )
        .expect("a link");
        let engine = project.engine().await;
        assert_eq!(
            code(&engine.call(call("t", json!({}))).await),
            "tool.hook.failed",
            "{folder}"
        );
        assert!(!engine.is_valid(), "{folder}");
        std::fs::remove_file(project.path().join(".harness").join(folder)).expect("removed");
        assert!(
            !project
                .engine()
                .await
                .call(call("t", json!({})))
                .await
                .is_error,
            "{folder}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_override_of_a_guard_blocks_the_calls_the_guard_judged() {
    let guard = hook(
        "tool.pre",
        "def handle(event, payload):\n    return block(\"no\")",
    );
    let broken = "---\nhooks:\n  - name: guard\n    event: custom.x\n    script: |\n      def handle(event, payload)\n          return allow()\n---\n";
    let project = Project::new(&[
        (".harness/tools/t.md", &tool(ECHO)),
        (".harness/hooks/guard.md", &guard),
        (".harness/overrides/o.md", broken),
    ]);
    assert_eq!(
        code(&project.engine().await.call(call("t", json!({}))).await),
        "tool.hook.failed"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_names_the_hook_that_stopped_its_builtin() {
    let reads = tool("def run(args):\n    return fs.exists(\"a\")");
    for (decision, expected) in [
        ("block(\"no\")", "tool.hook.blocked"),
        ("ask(\"sure?\")", "tool.approval.denied"),
        ("fail(\"broken\")", "tool.hook.failed"),
        ("allow()", "none"),
    ] {
        let guard = hook(
            "builtin.pre",
            &format!("def handle(event, payload):\n    x = {decision}\n    return x"),
        );
        let project = Project::new(&[
            (".harness/tools/t.md", &reads),
            (".harness/hooks/guard.md", &guard),
        ]);
        let result = project.engine().await.call(call("t", json!({}))).await;
        assert_eq!(code(&result), expected, "{decision}: {:?}", result.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_post_hook_rewords_the_whole_error_and_a_failing_one_withholds_it() {
    let failing = tool("def run(args):\n    fail(\"token SECRETDATA\")");
    let reword = hook(
        "tool.post",
        "def handle(event, payload):\n    return modify({\"content\": \"withheld\"})",
    );
    let project = Project::new(&[
        (".harness/tools/t.md", &failing),
        (".harness/hooks/reword.md", &reword),
    ]);
    let result = project.engine().await.call(call("t", json!({}))).await;
    assert!(
        result.is_error && !result.to_json().to_string().contains("SECRETDATA"),
        "{}",
        result.to_json()
    );
    let wrong = hook(
        "tool.post",
        "def handle(event, payload):\n    return modify({\"error\": None})",
    );
    let project = Project::new(&[
        (".harness/tools/t.md", &failing),
        (".harness/hooks/wrong.md", &wrong),
    ]);
    let result = project.engine().await.call(call("t", json!({}))).await;
    assert_eq!(code(&result), "tool.hook.failed");
    assert!(
        !result.to_json().to_string().contains("SECRETDATA"),
        "{}",
        result.to_json()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_with_exponential_branching_is_answered_at_once() {
    let schema = "input_schema:\n  $defs:\n    n: {anyOf: [{allOf: [{type: array, items: {$ref: \"#/$defs/n\"}}]}, {allOf: [{type: array, items: {$ref: \"#/$defs/n\"}}]}]}\n  type: object\n  properties: {a: {$ref: \"#/$defs/n\"}}\n";
    let project = Project::new(&[(
        ".harness/tools/t.md",
        &crate::support::tool_with(schema, ECHO),
    )]);
    let engine = project.engine().await;
    let deep = (0..40).fold(json!([1]), |inner, _| json!([inner]));
    let started = std::time::Instant::now();
    assert_eq!(
        code(&engine.call(call("t", json!({"a": deep}))).await),
        "tool.args.invalid_schema"
    );
    assert!(
        started.elapsed() < crate::support::program::SOON,
        "{:?}",
        started.elapsed()
    );
    assert!(
        !engine
            .call(call("t", json!({"a": [[], [[]]]})))
            .await
            .is_error,
        "a shallow value is still checked in full"
    );
}
