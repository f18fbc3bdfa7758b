//! What rules deny, whatever the spelling.

use super::{ALLOW, ECHO, ask, root};
use crate::support::{Project, call, code, hook, tool, tool_with};
use serde_json::json;
use std::collections::HashSet;

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_denied_by_name_is_denied_and_not_listed_whatever_allows_it() {
    for (policy, open, closed) in [
        (
            "deny: [write_note]",
            &["read_note", "run_all"][..],
            &["write_note"][..],
        ),
        (
            "deny: [\"write_*\", run_all]",
            &["read_note"],
            &["write_note", "run_all"],
        ),
        (
            "allow: [\"*\"], deny: [write_note]",
            &["read_note", "run_all"],
            &["write_note"],
        ),
        (
            "allow: [\"*_note\"], deny: [\"write_*\"]",
            &["read_note"],
            &["write_note", "run_all"],
        ),
        (
            "mode: allowlist, allow: []",
            &[],
            &["read_note", "write_note", "run_all"],
        ),
        (
            "mode: denylist, allow: [read_note], deny: [run_all]",
            &["read_note", "write_note"],
            &["run_all"],
        ),
        (
            "deny: [\"*\"]",
            &[],
            &["read_note", "write_note", "run_all"],
        ),
        (
            "deny: [\"{write,read}_note\"]",
            &["run_all"],
            &["write_note", "read_note"],
        ),
    ] {
        let project = Project::new(&[
            (
                "harness.md",
                &root(&format!("tools_policy: {{{policy}}}\n")),
            ),
            (".harness/tools/read_note.md", &tool(ECHO)),
            (".harness/tools/write_note.md", &tool(ECHO)),
            (".harness/tools/run_all.md", &tool(ECHO)),
            (".harness/hooks/yes.md", &hook("tool.pre", ALLOW)),
        ]);
        let engine = project.engine().await;
        let listed: HashSet<String> = engine
            .surface("default")
            .expect("a surface")
            .tools
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        for name in open {
            assert!(
                listed.contains(*name) && !engine.call(call(name, json!({}))).await.is_error,
                "{policy}: {name}"
            );
        }
        for name in closed {
            assert!(!listed.contains(*name), "{policy} lists {name}");
            let result = engine.call(call(name, json!({}))).await;
            assert_eq!(code(&result), "tool.denied", "{policy}: {name}");
            let place = result
                .error
                .as_ref()
                .and_then(|error| error.place.as_ref())
                .expect("the rule's place")
                .to_string();
            assert!(place.starts_with("harness.md:3:"), "{place}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ceiling_stops_tools_with_more_effects_and_scripts_cannot_understate_theirs() {
    let writer = tool(
        "def run(args):\n    if args.get(\"x\"):\n        fs.write(\"a\", \"b\")\n    return 1",
    );
    for (policy, expected) in [
        ("side_effect_level: none", "tool.denied"),
        ("side_effect_level: read_only", "tool.denied"),
        ("side_effect_level: workspace_write", "none"),
        ("effects: []", "tool.denied"),
        ("effects: [read]", "tool.denied"),
        ("effects: [read, write]", "none"),
        (
            "effects: [exec, net_read, net_write, desktop]",
            "tool.denied",
        ),
    ] {
        let rules = root(&format!("policy: {{{policy}}}\n"));
        let result = ask(
            &[("harness.md", &rules), (".harness/tools/t.md", &writer)],
            "t",
            json!({}),
        )
        .await;
        assert_eq!(code(&result), expected, "{policy}: {:?}", result.error);
    }
    for claim in [
        "risk: safe\n",
        "risk: read\n",
        "safety: {read_only: true}\n",
        "annotations: {side_effect_level: none}\n",
    ] {
        let liar = tool_with(
            claim,
            "def run(args):\n    f = fs\n    f.write(\"a\", \"b\")\n    return 1",
        );
        let project = Project::new(&[(".harness/tools/t.md", &liar)]);
        let engine = project.engine().await;
        assert!(
            engine
                .diagnostics()
                .iter()
                .any(|found| found.code == "EFFECTS_UNDERSTATED"),
            "{claim}: {:?}",
            engine.diagnostics()
        );
        assert_eq!(
            code(&engine.call(call("t", json!({}))).await),
            "tool.not_advertised",
            "{claim}"
        );
        assert!(!project.path().join("a").exists());
    }
    let destructive = tool_with("risk: destructive\n", ECHO);
    assert_eq!(
        code(&ask(&[(".harness/tools/t.md", &destructive)], "t", json!({})).await),
        "tool.approval.denied"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn capabilities_that_the_policy_does_not_list_are_denied() {
    for (wanted, expected) in [
        ("{git: [read]}", "none"),
        ("{git: [read, push]}", "tool.denied"),
        ("{git: [push]}", "tool.denied"),
        ("{docker: [read]}", "tool.denied"),
        ("{GIT: [read]}", "tool.denied"),
        ("{}", "none"),
    ] {
        let rules = root("policy: {capabilities: {git: [read]}}\n");
        let text = tool_with(&format!("annotations: {{capabilities: {wanted}}}\n"), ECHO);
        let result = ask(
            &[("harness.md", &rules), (".harness/tools/t.md", &text)],
            "t",
            json!({}),
        )
        .await;
        assert_eq!(code(&result), expected, "{wanted}: {:?}", result.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn constraints_apply_to_every_spelling_of_a_path_and_every_type_of_value() {
    let rules = root(
        "policy:\n  tool_arg_constraints:\n    - {tool: t, arg_key: path, arg_patterns: [\"src/**\"]}\n",
    );
    let plain = tool(ECHO);
    let renamed = tool_with(
        "annotations: {arg_schema: {path_params: [path], arg_aliases: {file: path}}}\n",
        ECHO,
    );
    for text in [&plain, &renamed] {
        let project = Project::new(&[("harness.md", &rules), (".harness/tools/t.md", text)]);
        let engine = project.engine().await;
        for (path, fine) in [
            (json!("src/a"), true),
            (json!("src/a/b/c.rs"), true),
            (json!("./src/a"), true),
            (json!("src//a"), true),
            (json!("src/x/../a"), true),
            (json!("x/../src/a"), true),
            (json!(["src/a", "src/b"]), true),
            (json!([]), true),
            (json!("src/é"), true),
            (json!("src/../../etc/passwd"), false),
            (json!("src/../etc"), false),
            (json!("src/.."), false),
            (json!(".."), false),
            (json!("../src/a"), false),
            (json!("/src/a"), false),
            (json!("//src/a"), false),
            (json!("/etc/passwd"), false),
            (json!("SRC/a"), false),
            (json!("srcx/a"), false),
            (json!("src"), false),
            (json!(""), false),
            (json!("."), false),
            (json!("ｓｒｃ/a"), false),
            (json!("src\u{2215}a"), false),
            (json!("src\\..\\..\\etc"), false),
            (json!("\u{200b}src/a"), false),
            (json!(" src/a"), false),
            (json!("src\u{0}/a"), false),
            (json!(["src/a", "etc/b"]), false),
            (json!([["src/a"], ["etc"]]), false),
            (json!(["src/a", 7]), false),
            (json!([{"path": "src/a"}]), false),
            (json!(7), false),
            (json!(true), false),
            (json!(null), false),
            (json!({"src/a": 1}), false),
        ] {
            let result = engine.call(call("t", json!({"path": path}))).await;
            assert_eq!(
                code(&result),
                if fine { "none" } else { "tool.denied" },
                "{path}"
            );
        }
        assert!(
            !engine.call(call("t", json!({}))).await.is_error,
            "an absent argument is fine"
        );
    }
    let project = Project::new(&[("harness.md", &rules), (".harness/tools/t.md", &renamed)]);
    let engine = project.engine().await;
    assert_eq!(
        code(&engine.call(call("t", json!({"file": "etc/passwd"}))).await),
        "tool.denied",
        "an alias is judged as its argument"
    );
    assert_eq!(
        code(
            &engine
                .call(call("t", json!({"file": "src/a", "path": "src/a"})))
                .await
        ),
        "tool.args.invalid_schema"
    );
    assert_eq!(
        engine.call(call("t", json!({"file": "src/a"}))).await.value,
        Some(json!({"path": "src/a"}))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn constraints_apply_to_a_path_and_to_the_target_of_its_links() {
    let absolute = "/{src,lib}/**";
    let project = Project::new(&[(".harness/tools/t.md", &tool(ECHO))]);
    let here = project.path().canonicalize().expect("a folder");
    let patterns = format!(
        "[\"src/**\", \"lib/**\", \"../**\", \"/elsewhere/**\", \"{}{absolute}\"]",
        here.display()
    );
    let rules = root(&format!(
        "policy:\n  tool_arg_constraints:\n    - {{tool: t, arg_key: path, arg_patterns: {patterns}}}\n"
    ));
    project.write("harness.md", rules.as_bytes());
    project.write("src/a", b"a");
    project.write("lib/b", b"b");
    project.write("keys/secret", b"s");
    for (link, target) in [
        ("src/secret", "../keys/secret"),
        ("src/keys", "../keys"),
        ("src/lib", "../lib"),
        ("src/out", "/etc"),
        ("src/loop", "loop"),
    ] {
        std::os::unix::fs::symlink(target, project.path().join(link)).expect("a link");
    }
    let engine = project.engine().await;
    let inside = |path: &str| format!("{}/{path}", here.display());
    for (path, fine) in [
        ("src/a", true),
        ("src/new/file", true),
        ("src/a/beneath-a-file", true),
        ("src/lib/b", true),
        (&inside("src/a"), true),
        (&inside("src/lib/b"), true),
        ("../src/a", true),
        ("/elsewhere/a", true),
        ("src/secret", false),
        ("src/keys", false),
        ("src/keys/secret", false),
        ("src/keys/new", false),
        ("src/./keys//secret", false),
        ("src/out/passwd", false),
        ("src/loop", false),
        (&inside("src/keys/secret"), false),
    ] {
        let result = engine.call(call("t", json!({"path": path}))).await;
        assert_eq!(
            code(&result),
            if fine { "none" } else { "tool.denied" },
            "{path}: {}",
            result.text()
        );
        let listed = engine
            .call(call("t", json!({"path": ["src/a", path]})))
            .await;
        assert_eq!(code(&listed), code(&result), "{path} in a list");
    }
    let result = engine.call(call("t", json!({"path": "src/secret"}))).await;
    assert!(
        result
            .text()
            .contains("`path` is `src/secret`, which leads to `keys/secret`; accepted: src/**"),
        "{}",
        result.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_and_hooks_judge_an_alias_as_the_tool_it_names() {
    let text = tool_with("aliases: {openai: save_it}\n", ECHO);
    let guard = hook(
        "tool.pre",
        "def handle(event, payload):\n    if payload[\"name\"] == \"write_note\":\n        return block(\"seen\")\n    return allow()",
    );
    let files = [
        (".harness/tools/write_note.md", text.as_str()),
        (".harness/hooks/guard.md", &guard),
    ];
    let result = ask(&files, "save_it", json!({})).await;
    assert_eq!(
        (code(&result), result.name.as_str()),
        ("tool.hook.blocked", "write_note"),
        "{:?}",
        result.error
    );
    let rules = root("tools_policy: {deny: [write_note]}\n");
    let files = [
        ("harness.md", rules.as_str()),
        (".harness/tools/write_note.md", &text),
    ];
    assert_eq!(
        code(&ask(&files, "save_it", json!({})).await),
        "tool.denied"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_beyond_the_range_of_the_clock_is_no_limit() {
    let project = Project::script("def run(args):\n    return 1");
    let engine = project
        .builder()
        .budget(std::time::Duration::MAX)
        .load()
        .await
        .expect("loads");
    let mut forever = call("t", json!({}));
    forever.timeout = Some(std::time::Duration::MAX);
    assert_eq!(engine.call(forever).await.value, Some(json!(1)));
}
