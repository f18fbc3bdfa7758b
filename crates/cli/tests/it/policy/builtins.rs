//! What scripts may call, and which state they share.

use super::{ECHO, ask, root};
use crate::support::{Project, call, code, hook, tool};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tool_harness::artifact::Authority;
use tool_harness::digest::fresh_id;
use tool_harness::{Run, Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec};

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_builtin_raises_in_every_script_however_it_is_reached() {
    let scripts = [
        "def run(args):\n    return fs.exists(\"a\")",
        "def run(args):\n    x = fs\n    return x.exists(\"a\")",
        "def run(args):\n    f = fs.exists\n    return f(\"a\")",
        "def run(args):\n    return [f(\"a\") for f in [fs.exists]][0]",
        "def run(args):\n    d = {\"k\": fs}\n    return d[\"k\"].exists(\"a\")",
        "def run(args):\n    return getattr(fs, \"exists\")(\"a\")",
        "def run(args):\n    return (lambda m: m.exists(\"a\"))(fs)",
        "x = fs.exists\ndef run(args):\n    return x(\"a\")",
    ];
    for policy in [
        "deny: [\"fs.*\"]",
        "deny: [fs.exists]",
        "deny: [\"*.exists\"]",
        "builtins: {allow: [fs.read]}",
        "builtins: {deny: [fs]}",
        "builtins: {deny: [fs.exists]}",
    ] {
        for script in scripts {
            let rules = root(&format!("tools_policy: {{{policy}}}\n"));
            let result = ask(
                &[
                    ("harness.md", &rules),
                    (".harness/tools/t.md", &tool(script)),
                ],
                "t",
                json!({}),
            )
            .await;
            assert_eq!(
                code(&result),
                "tool.failed",
                "{policy}: {script}: {:?}",
                result.value
            );
            assert!(
                result.text().contains("fs.exists") && result.text().contains("denied"),
                "{policy}: {}",
                result.text()
            );
        }
    }
    for (script, policy) in scripts.into_iter().flat_map(|script| {
        [
            "deny: [fs.write]",
            "deny: [fs, exec]",
            "allow: [t, fs.read]",
            "builtins: {allow: [\"fs.e*\"]}",
            "builtins: {allow: [fs], deny: [fs.write]}",
        ]
        .map(|policy| (script, policy))
    }) {
        let rules = root(&format!("tools_policy: {{{policy}}}\n"));
        let result = ask(
            &[
                ("harness.md", &rules),
                (".harness/tools/t.md", &tool(script)),
            ],
            "t",
            json!({}),
        )
        .await;
        assert_eq!(
            result.value,
            Some(json!(false)),
            "{policy}: {script}: {:?}",
            result.error
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_above_closes_built_ins_and_a_project_cannot_open_them() {
    let script = tool("def run(args):\n    return fs.exists(\"a\")");
    for (above, project_rules, expected) in [
        ("deny: [fs.exists]", "allow: [t, fs.exists]", "tool.failed"),
        (
            "builtins: {deny: [fs]}",
            "builtins: {allow: [fs]}",
            "tool.failed",
        ),
        (
            "builtins: {allow: [http]}",
            "builtins: {allow: [fs]}",
            "tool.failed",
        ),
        ("builtins: {allow: [fs]}", "allow: [t]", "none"),
        (
            "allow: [t, http.get]",
            "builtins: {allow: [fs.exists]}",
            "none",
        ),
    ] {
        let project = Project::new(&[
            (
                "harness.md",
                &root(&format!("tools_policy: {{{project_rules}}}\n")),
            ),
            (".harness/tools/t.md", &script),
            ("above.md", &root(&format!("tools_policy: {{{above}}}\n"))),
        ]);
        for authority in [Authority::Machine, Authority::User] {
            let layer = project.path().join("above.md");
            let builder = project.builder().layer(authority, layer);
            let engine = builder.load().await.expect("loads");
            let result = engine.call(call("t", json!({}))).await;
            assert_eq!(code(&result), expected, "{above} above {project_rules}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_builtin_raises_in_tools_even_without_effects_and_never_in_hooks() {
    for (name, expression) in [
        ("json.encode", "json.encode({})"),
        ("time.now", "time.now()"),
        ("re.match", "re.match(\"a\", \"a\")"),
        ("uuid.v4", "uuid.v4()"),
        ("cache.get", "cache.get(\"a\")"),
        ("env", "env(\"HOME\")"),
    ] {
        let rules = root(&format!(
            "tools_policy: {{builtins: {{deny: [{name}], allow: [fs.read]}}}}\nsandbox: {{env: [HOME]}}\n"
        ));
        let script = format!("def run(args):\n    return [{expression}, 1][1]");
        let files = [
            ("harness.md", rules.as_str()),
            (".harness/tools/t.md", &tool(&script)),
        ];
        let result = ask(&files, "t", json!({})).await;
        assert_eq!(code(&result), "tool.failed", "{name}: {:?}", result.value);
        assert!(result.text().contains(name), "{name}: {}", result.text());
        let guard = hook(
            "tool.pre",
            &format!("def handle(event, payload):\n    x = {expression}\n    return allow()"),
        );
        let files = [
            ("harness.md", rules.as_str()),
            (".harness/tools/t.md", &tool(ECHO)),
            (".harness/hooks/guard.md", &guard),
        ];
        let project = Project::new(&files);
        let builder = project.builder().environment(Arc::new(|_| Ok(None)));
        let engine = builder.load().await.expect("loads");
        let result = engine.call(call("t", json!({}))).await;
        assert_eq!(
            code(&result),
            "none",
            "{name} in a hook: {:?}",
            result.error
        );
        if name.starts_with("json") || name.starts_with("re.") {
            let early = format!("x = {expression}\ndef run(args):\n    return 1");
            let result = ask(
                &[
                    ("harness.md", rules.as_str()),
                    (".harness/tools/t.md", &tool(&early)),
                ],
                "t",
                json!({}),
            )
            .await;
            assert_eq!(
                code(&result),
                "tool.failed",
                "{name} while the script is loaded: {:?}",
                result.value
            );
        }
        let project = Project::new(&[
            ("harness.md", "---\nsandbox: {env: [HOME]}\n---\n"),
            (".harness/tools/t.md", &tool(&script)),
        ]);
        let engine = project
            .builder()
            .environment(Arc::new(|_| Ok(None)))
            .load()
            .await
            .expect("loads");
        assert_eq!(
            engine.call(call("t", json!({}))).await.value,
            Some(json!(1)),
            "{name}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unimplemented_builtin_is_a_known_name_that_raises() {
    for expression in [
        "meta.list_tools()",
        "meta.call_tool(\"t\", {})",
        "meta.tool_register({})",
        "meta.hook_register({})",
        "task.poll(\"x\")",
        "delegate({\"task\": \"x\"})",
    ] {
        let text = tool(&format!("def run(args):\n    return {expression}"));
        let project = Project::new(&[(".harness/tools/t.md", &text)]);
        let engine = project.engine().await;
        assert!(
            !engine
                .diagnostics()
                .iter()
                .any(|found| found.code.starts_with("SCRIPT_UNKNOWN")),
            "{expression}"
        );
        let result = engine.call(call("t", json!({}))).await;
        assert_eq!(
            code(&result),
            "tool.failed",
            "{expression}: {:?}",
            result.value
        );
        assert!(
            result.text().contains("not available yet"),
            "{expression}: {}",
            result.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_see_only_listed_environment_variables() {
    let rules = root("sandbox: {env: [LISTED, UNSET, UNTRUSTED]}\n");
    let script = tool("def run(args):\n    return env(args[\"name\"], \"default\")");
    let project = Project::new(&[("harness.md", &rules), (".harness/tools/t.md", &script)]);
    let variables = |name: &str| match name {
        "LISTED" | "SECRET" | "" | "LISTED=1" => Ok(Some(format!("value of {name}"))),
        "UNTRUSTED" => Err("a person must agree first".to_owned()),
        _ => Ok(None),
    };
    let engine = project
        .builder()
        .environment(Arc::new(variables))
        .load()
        .await
        .expect("loads");
    for (name, expected) in [
        ("LISTED", Ok("value of LISTED")),
        ("UNSET", Ok("default")),
        ("SECRET", Err(())),
        ("UNTRUSTED", Err(())),
        ("listed", Err(())),
        ("", Err(())),
        ("LISTED=1", Err(())),
    ] {
        let result = engine.call(call("t", json!({"name": name}))).await;
        match expected {
            Ok(text) => assert_eq!(result.value, Some(json!(text)), "{name}"),
            Err(()) => assert!(
                result.is_error && !result.text().contains("value of"),
                "{name}: {}",
                result.text()
            ),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_lives_with_the_session_cache_with_the_run_and_ctx_with_the_turn() {
    let script = tool(
        "def run(args):\n    seen = [m.get(\"k\") for m in [state, cache, ctx]]\n    [m.set(\"k\", args[\"v\"]) for m in [state, cache, ctx]]\n    return seen",
    );
    let project = Project::new(&[(".harness/tools/t.md", &script)]);
    let engine = project.engine().await;
    let ask = |session: &str, run: &str, value: u32| {
        let mut call = call("t", json!({"v": value})).session(session);
        call.run_id = run.to_owned();
        engine.call(call)
    };
    for (session, run, value, seen) in [
        ("a", "1", 1, json!([null, null, null])),
        ("a", "1", 2, json!([1, 1, null])),
        ("a", "2", 3, json!([2, null, null])),
        ("b", "1", 4, json!([null, null, null])),
        ("a", "1", 5, json!([3, 2, null])),
    ] {
        assert_eq!(
            ask(session, run, value).await.value,
            Some(seen),
            "{session} {run}"
        );
    }
}

/// Calls another tool twice.
struct Outer;

impl Tool for Outer {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("outer", "Calls `count` twice.").pure()
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        runtime.call("count", json!({})).await;
        let second = runtime.call("count", json!({})).await;
        Ok(ToolOutput::value(second.value.unwrap_or_default()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_turns_and_nested_calls_of_a_run_share_its_cache() {
    let script = tool(
        "def run(args):\n    return [cache.increment(\"n\"), ctx.increment(\"n\"), state.increment(\"n\")]",
    );
    let project = Project::new(&[(".harness/tools/count.md", &script)]);
    let engine = project.builder().tool(Outer).load().await;
    let engine = engine.expect("an engine");
    let turn = async |run: &Run, tools: &[&str]| {
        let requests = (0..).zip(tools).map(|(index, name)| {
            let id = format!("{}-{index}-{name}", fresh_id("call"));
            ToolRequest::new(id, *name, json!({}))
        });
        let turned = run.turn().expect("a turn").call(requests.collect()).await;
        let values = turned.results.into_iter().map(|result| result.value);
        values.map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    let run = engine.start(()).session("s");
    assert_eq!(turn(&run, &["count"]).await, [json!([1, 1, 1])]);
    assert_eq!(turn(&run, &["count"]).await, [json!([2, 1, 2])]);
    assert_eq!(
        turn(&run, &["outer"]).await,
        [json!([4, 2, 4])],
        "nested calls are calls of the run, and of the turn"
    );
    let next = engine.start(()).session("s");
    assert_eq!(turn(&next, &["count"]).await, [json!([1, 1, 5])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_concurrent_updates_lose_none() {
    let script = tool(
        "def run(args):\n    state.increment(\"n\")\n    state.append(\"l\", args[\"i\"])\n    metrics.incr(\"m\")\n    return state.update({str(args[\"i\"]): True})",
    );
    let read = tool(
        "def run(args):\n    return [state.get(\"n\"), len(state.get(\"l\")), len(state.snapshot()), metrics.get(\"m\")]",
    );
    let project = Project::new(&[
        (".harness/tools/t.md", &script),
        (".harness/tools/read_all.md", &read),
    ]);
    let engine = project.engine().await;
    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..200 {
        let engine = engine.clone();
        tasks.spawn(async move { engine.call(call("t", json!({"i": i})).session("s")).await });
    }
    while let Some(result) = tasks.join_next().await {
        let result = result.expect("joins");
        assert!(!result.is_error, "{:?}", result.error);
    }
    assert_eq!(
        engine
            .call(call("read_all", json!({})).session("s"))
            .await
            .value,
        Some(json!([200, 200, 202, 200]))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_cannot_forge_harness_events() {
    let script = "def run(args):\n    emit(\"tool.completed\", {\"tool\": \"other\"})\n    emit(\"custom.hook.decided\")\n    print(\"tool.started\\n{}\")\n    return 1";
    let project = Project::script(script);
    let result = project.engine().await.call(call("t", json!({}))).await;
    assert!(!result.is_error, "{:?}", result.error);
    let names = project.events.names();
    assert_eq!(
        names,
        [
            "tool.started",
            "custom.tool.completed",
            "custom.hook.decided",
            "log",
            "tool.completed"
        ]
    );
    assert!(
        project
            .events
            .all()
            .iter()
            .all(|event| event.name().starts_with("custom.")
                || event.fields().get("tool") != Some(&json!("other")))
    );
}
