//! Hook events other than calls.

use super::project;
use crate::support::{Project, call, code, hook, tool, tool_with};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_file_that_does_not_load_blocks_its_event_and_says_what_to_do() {
    for (text, names) in [
        ("no frontmatter at all\n", true),
        ("---\nevent: tool.pre\n", true),
        ("---\nevent: [tool.pre\n---\n", true),
        (
            "---\nevent: tool.pre\nscript: |\n  def handle(event, payload)\n      return allow()\n---\n",
            true,
        ),
        (
            "---\nevent: tool.pre\nscript: |\n  def handle(event):\n      return allow()\n---\n",
            true,
        ),
        (
            "---\nevent: tool.prre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n",
            true,
        ),
        (
            "---\nevent: tool.pre\nwhne: \"True\"\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n",
            true,
        ),
        (
            "---\nevent: tool.post\nscript: |\n  def handle(event, payload):\n      return nope()\n---\n",
            true,
        ),
        (
            "---\nevent: custom.x\nscript: |\n  def handle(event, payload):\n      return nope()\n---\n",
            false,
        ),
    ] {
        let project = project(&[("guard", text.to_owned())]);
        let result = project
            .engine()
            .await
            .call(call("run_echo", json!({})))
            .await;
        if !names {
            assert!(!result.is_error, "{text}: {:?}", result.error);
            continue;
        }
        assert_eq!(code(&result), "tool.hook.failed", "{text}");
        let error = result.error.expect("refused");
        assert!(error.message.contains("`guard`"), "{}", error.message);
        assert!(
            error
                .help
                .as_deref()
                .unwrap_or_default()
                .contains("person must fix"),
            "{error:?}"
        );
        assert!(
            error
                .place
                .as_ref()
                .is_some_and(|place| place.to_string().starts_with(".harness/hooks/guard.md:")),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn builtin_hooks_see_change_and_block_every_crossing_except_those_of_hooks() {
    let files = [
        (
            ".harness/tools/write_note.md",
            tool(
                "def run(args):\n    fs.write(args[\"path\"], \"hello\")\n    return fs.read(args[\"path\"])",
            ),
        ),
        (
            ".harness/hooks/guard.md",
            hook(
                "builtin.pre",
                "def handle(event, payload):\n    metrics.incr(payload[\"name\"])\n    if payload[\"name\"] == \"fs.write\" and payload[\"args\"][\"path\"].endswith(\".env\"):\n        return block(\"no secrets\")\n    if payload[\"name\"] == \"fs.write\":\n        args = dict(payload[\"args\"])\n        args[\"content\"] = \"changed\"\n        return modify({\"args\": args})\n    return allow()",
            ),
        ),
        (
            ".harness/hooks/shape.md",
            hook(
                "builtin.post",
                "def handle(event, payload):\n    if payload[\"name\"] == \"fs.read\":\n        return modify({\"result\": payload[\"result\"].upper()})\n    return allow()",
            ),
        ),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let project = Project::new(&files);
    let engine = project.engine().await;
    let result = engine
        .call(call("write_note", json!({"path": "a.txt"})))
        .await;
    assert_eq!(result.value, Some(json!("CHANGED")), "{:?}", result.error);
    let result = engine
        .call(call("write_note", json!({"path": "a.env"})))
        .await;
    assert_eq!(code(&result), "tool.hook.blocked");
    assert!(result.text().contains("no secrets"), "{}", result.text());
    assert!(!project.path().join("a.env").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn artifact_load_hooks_can_lint_scripts_and_require_tags() {
    let policy = "def handle(event, payload):\n    if payload[\"kind\"] == \"tool\" and \"fs.write\" in (payload[\"script\"] or \"\"):\n        return block(\"no writers here\")\n    return allow()";
    let files = [
        (
            ".harness/tools/write_note.md",
            tool("def run(args):\n    fs.write(\"a\", \"b\")\n    return 1"),
        ),
        (
            ".harness/tools/read_note.md",
            tool("def run(args):\n    return fs.exists(\"a\")"),
        ),
        (".harness/hooks/lint.md", hook("artifact.load", policy)),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let project = Project::new(&files);
    let engine = project.engine().await;
    let found: Vec<_> = engine
        .diagnostics()
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect();
    assert_eq!(found, ["ARTIFACT_BLOCKED"]);
    assert_eq!(
        code(&engine.call(call("write_note", json!({}))).await),
        "tool.not_advertised"
    );
    assert!(!engine.call(call("read_note", json!({}))).await.is_error);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_need_a_loaded_project_report_exactly_their_code() {
    for rule in tool_harness::check::Phase::Loading.rules() {
        let bad = Project::new(rule.bad).engine().await;
        assert_eq!(
            bad.diagnostics()
                .iter()
                .map(|found| found.code)
                .collect::<Vec<_>>(),
            [rule.code]
        );
        assert_eq!(Project::new(rule.good).engine().await.diagnostics(), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn emit_raises_custom_events_and_their_hooks_run() {
    let files = [
        (
            ".harness/tools/run_build.md",
            tool(
                "def run(args):\n    emit(\"build_done\", {\"n\": 3})\n    return state.get(\"seen\") or cache.get(\"seen\")",
            ),
        ),
        (
            ".harness/hooks/note_build.md",
            hook(
                "custom.build_done",
                "def handle(event, payload):\n    cache.set(\"seen\", payload[\"n\"])\n    return allow()",
            ),
        ),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let project = Project::new(&files);
    let result = project
        .engine()
        .await
        .call(call("run_build", json!({})))
        .await;
    assert_eq!(result.value, Some(json!(3)), "{:?}", result.error);
    assert!(
        project
            .events
            .names()
            .contains(&"custom.build_done".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_around_log_does_not_fill_the_record() {
    let script = "def run(args):\n    for n in range(args[\"n\"]):\n        log(\"line\")\n    emit(\"done\", {})\n    return 1";
    let project = Project::new(&[(
        ".harness/tools/t.md",
        &tool_with("parameters: { n: { type: integer } }\n", script),
    )]);
    let engine = project.engine().await;
    for (lines, logged, custom, dropped) in [
        (999, 999, 1, None),
        (1000, 1001, 0, Some(1)),
        (1500, 1001, 0, Some(501)),
    ] {
        project.events.clear();
        assert!(!engine.call(call("t", json!({"n": lines}))).await.is_error);
        let events = project.events.all();
        let count = |name: &str| events.iter().filter(|event| event.name() == name).count();
        assert_eq!(
            (count("log"), count("custom.done")),
            (logged, custom),
            "{lines}"
        );
        assert_eq!(
            events.last().map(|event| event.name()),
            Some("tool.completed")
        );
        let last = events
            .iter()
            .rfind(|event| event.name() == "log")
            .expect("a log");
        assert_eq!(
            last.fields()["fields"]
                .get("dropped")
                .and_then(Value::as_u64),
            dropped,
            "{lines}"
        );
    }
}
