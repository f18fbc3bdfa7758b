//! The user's and the machine's files, which rank above the project.

use super::{run, shell};
use crate::support::{Project, call, code, tool};
use serde_json::json;
use std::path::Path;
use tempfile::TempDir;
use tool_harness::artifact::Authority;
use tool_harness::plan::Surroundings;

/// A folder with the files of a machine and a user.
fn layered(
    project: &Project,
    machine: Option<&str>,
    user: Option<&str>,
) -> (TempDir, tool_harness::engine::EngineBuilder) {
    let folder = TempDir::new().expect("a folder");
    let mut builder = project.builder();
    for (authority, name, text) in [
        (Authority::User, "user.md", user),
        (Authority::Machine, "machine.md", machine),
    ] {
        let file = folder.path().join(name);
        if let Some(text) = text {
            std::fs::write(&file, format!("---\n{text}---\n")).expect("a file");
        }
        builder = builder.layer(authority, file);
    }
    (folder, builder)
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_every_layer_apply_and_name_their_file_and_line() {
    let project = shell("");
    project.write(
        "harness.md",
        b"---\ntools_policy: {allow: [t, other]}\nlimits: {max_calls: 5}\n---\n",
    );
    project.write(
        ".harness/tools/other.md",
        tool("def run(args):\n    return 1").as_bytes(),
    );
    let (folder, builder) = layered(
        &project,
        Some("tools_policy: {deny: [t]}\n"),
        Some("policy: {side_effect_level: read_only}\nlimits: {max_calls: 1}\n"),
    );
    let engine = builder.load().await.expect("loads");
    assert!(engine.is_valid(), "{:?}", engine.diagnostics());
    let denied = engine.call(call("t", json!({"command": "true"}))).await;
    assert_eq!(code(&denied), "tool.denied");
    let place = denied
        .error
        .as_ref()
        .and_then(|error| error.place.as_ref())
        .expect("a place")
        .to_string();
    assert!(
        place.starts_with(&format!(
            "{}:2:",
            folder.path().join("machine.md").display()
        )),
        "{place}"
    );
    let rules: Vec<String> = engine
        .default_view()
        .rules
        .iter()
        .filter_map(|rule| Some(rule.place.as_ref()?.source.path.to_string()))
        .collect();
    let named = |rule: &String| {
        Path::new(rule)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    assert_eq!(
        rules.iter().map(named).collect::<Vec<_>>(),
        ["machine.md", "user.md", "harness.md"]
    );
    for expected in ["none", "tool.limit"] {
        assert_eq!(
            code(&engine.call(call("other", json!({})).session("s")).await),
            expected,
            "the smaller limit applies"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_layer_stops_everything_and_is_named() {
    let project = shell("");
    for text in [
        "polisy: {}\n",
        "hooks: []\n",
        "tools_policy: 5\n",
        "sandbox: {mode: maybe}\n",
        "network: {allowed_domains: ['a b']}\n",
        "x: [\n",
    ] {
        let (_folder, builder) = layered(&project, None, Some(text));
        let engine = builder.load().await.expect("loads");
        let result = engine.call(call("t", json!({"command": "true"}))).await;
        assert_eq!(code(&result), "project.broken", "{text}");
        assert!(
            result.text().contains("user.md"),
            "{text}: {}",
            result.text()
        );
    }
    let (folder, builder) = layered(&project, None, None);
    std::fs::create_dir(folder.path().join("machine.md")).expect("a folder in place of the file");
    assert_eq!(
        code(
            &builder
                .load()
                .await
                .expect("loads")
                .call(call("t", json!({"command": "true"})))
                .await
        ),
        "project.broken"
    );
    let (_folder, builder) = layered(&project, None, None);
    assert_eq!(
        run(&builder.load().await.expect("loads"), "true").await["ok"],
        json!(true),
        "missing files are ignored"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_person_can_turn_the_sandbox_off() {
    let project = shell("");
    let tier = |result: &tool_harness::ToolResult| result.to_json()["enforced"].clone();
    for (own, machine, user, off) in [
        ("off", None, None, false),
        ("on", None, Some("sandbox: {mode: off}\n"), true),
        ("on", Some("sandbox: {mode: off}\n"), None, true),
        (
            "on",
            Some("sandbox: {mode: on}\n"),
            Some("sandbox: {mode: off}\n"),
            false,
        ),
    ] {
        project.write(
            "harness.md",
            format!("---\nsandbox: {{mode: {own}}}\n---\n").as_bytes(),
        );
        let (_folder, builder) = layered(&project, machine, user);
        let engine = builder.load().await.expect("loads");
        let warned = engine
            .diagnostics()
            .iter()
            .any(|found| found.code == "SANDBOX_WIDENED");
        assert_eq!(warned, own == "off");
        let result = engine.call(call("t", json!({"command": "true"}))).await;
        assert_eq!(
            tier(&result)["sandbox"] == json!("off"),
            off,
            "{own} {machine:?} {user:?}: {}",
            tier(&result)
        );
        assert_eq!(
            tier(&result)["tier"] == json!("none"),
            off,
            "{own} {machine:?} {user:?}: {}",
            tier(&result)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_layer_can_open_folders_and_variables() {
    let outside = TempDir::new_in("/var/lib")
        .or_else(|_| TempDir::new())
        .expect("a folder");
    std::fs::write(outside.path().join("a.txt"), "a").expect("a file");
    let path = outside.path().display();
    let project = shell("");
    let opens = format!("sandbox: {{writable: ['{path}'], env: [TOKEN]}}\n");
    project.write("harness.md", format!("---\n{opens}---\n").as_bytes());
    project.write(
        ".harness/tools/read_env.md",
        tool("def run(args):\n    return env(\"TOKEN\")").as_bytes(),
    );
    let surroundings =
        || Surroundings::new(None, |name| (name == "TOKEN").then(|| "t0k3n".to_owned()));
    let command = format!("echo b > {path}/b.txt; echo \"[$TOKEN]\"");
    let engine = project
        .builder()
        .surroundings(surroundings())
        .load()
        .await
        .expect("loads");
    let closed = run(&engine, &command).await;
    assert_eq!(
        (&closed["stdout"], outside.path().join("b.txt").exists()),
        (&json!("[]\n"), false),
        "{closed}"
    );
    assert!(engine.call(call("read_env", json!({}))).await.is_error);
    let (_folder, builder) = layered(&project, None, Some(&opens));
    let engine = builder
        .surroundings(surroundings())
        .load()
        .await
        .expect("loads");
    let opened = run(&engine, &command).await;
    assert_eq!(
        (&opened["stdout"], outside.path().join("b.txt").exists()),
        (&json!("[t0k3n]\n"), true),
        "{opened}"
    );
    assert_eq!(
        engine.call(call("read_env", json!({}))).await.value,
        Some(json!("t0k3n"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_any_layer_makes_read_only_is_read_and_changed_by_no_script_and_no_process() {
    let outside = TempDir::new_in("/var/lib")
        .or_else(|_| TempDir::new())
        .expect("a folder");
    let kept = outside.path().canonicalize().expect("a path").join("kept");
    std::fs::create_dir(&kept).expect("a folder");
    let project = shell("");
    for name in [
        "infra/main.tf",
        "src/user.txt",
        "src/machine/file",
        "src/free",
    ] {
        project.write(name, b"text");
    }
    project.write(
        "harness.md",
        b"---\nformat: 1\nsandbox:\n  read_only: [infra, not/there]\n---\n",
    );
    let write =
        "def run(args):\n    fs.write(args[\"path\"], \"new\")\n    return fs.read(args[\"path\"])";
    project.write(".harness/tools/write_it.md", tool(write).as_bytes());
    let user = format!(
        "sandbox: {{writable: ['{}'], read_only: [src/user.txt]}}\n",
        kept.parent().expect("a folder").display()
    );
    let machine = format!(
        "sandbox: {{read_only: [src/machine, '{}']}}\n",
        kept.display()
    );
    let (folder, builder) = layered(&project, Some(&machine), Some(&user));
    let engine = builder.load().await.expect("loads");
    for (path, from) in [
        ("infra/main.tf", "harness.md:4:15".to_owned()),
        ("infra/new/file", "harness.md:4:15".to_owned()),
        ("not/there/x", "harness.md:4:22".to_owned()),
        (
            "src/user.txt",
            format!("{}:2:", folder.path().join("user.md").display()),
        ),
        (
            "src/machine/new",
            format!("{}:2:", folder.path().join("machine.md").display()),
        ),
    ] {
        let result = engine.call(call("write_it", json!({"path": path}))).await;
        let said = result.text();
        assert!(
            result.is_error
                && said.contains(&format!(
                    "`{path}` is read-only: `sandbox.read_only` at {from}"
                )),
            "{path}: {said}"
        );
    }
    let result = engine
        .call(call("write_it", json!({"path": "src/free"})))
        .await;
    assert_eq!(result.value, Some(json!("new")));
    let kept = kept.display();
    for command in [
        "echo x > infra/main.tf",
        "touch infra/new",
        "mv infra other",
        "echo x > src/user.txt",
        "rm -r src/machine",
        &format!("touch {kept}/new"),
    ] {
        let ran = run(&engine, command).await;
        assert_ne!(ran["exit_code"], json!(0), "{command}");
    }
    let read = "cat infra/main.tf src/user.txt src/machine/file";
    assert_eq!(run(&engine, read).await["stdout"], json!("texttexttext"));
    let fine = format!("echo x > src/free && touch {kept}/../fine && echo written");
    assert_eq!(run(&engine, &fine).await["stdout"], json!("written\n"));
    let plan = engine.plan(Some("t")).expect("a plan");
    assert!(
        plan.files
            .read_only
            .contains(&project.path().canonicalize().expect("a path").join("infra"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_left_in_place_of_an_opened_folder_opens_nothing() {
    let outside = TempDir::new().expect("a folder");
    let canary = outside
        .path()
        .canonicalize()
        .expect("a path")
        .join("canary");
    let base = TempDir::new().expect("a folder");
    let cache = base.path().canonicalize().expect("a path");
    std::fs::create_dir(cache.join("deep")).expect("a folder");
    let project = shell("");
    project.write("build/out/file", b"built");
    let user = format!(
        "sandbox: {{writable: [build/out, {0}, {0}/deep]}}\n",
        cache.display()
    );
    let (_layers, builder) = layered(&project, None, Some(&user));
    let engine = builder.load().await.expect("loads");
    std::fs::write(&canary, "untouched").expect("a canary");
    let folder = canary.parent().expect("a folder").display();
    let said = run(
        &engine,
        &format!(
            "cat build/out/file; echo x > {}/deep/file && echo written",
            cache.display()
        ),
    )
    .await;
    assert_eq!(said["stdout"], json!("builtwritten\n"));
    let line = format!(
        "rm -rf build/out {0}/deep; ln -s {folder} build/out; ln -s {folder} {0}/deep",
        cache.display()
    );
    run(&engine, &line).await;
    let line = format!(
        "cat {folder}/canary; echo evil > {folder}/canary; echo evil > build/out/canary; echo evil > {}/deep/canary",
        cache.display()
    );
    assert_eq!(run(&engine, &line).await["stdout"], json!(""));
    assert_eq!(
        std::fs::read_to_string(&canary).expect("there"),
        "untouched"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_and_hooks_do_not_change_the_plan_and_explain_shows_it() {
    let project = shell(
        "safety: {filesystem: read}\nlimits: {processes: 9, memory_mb: 100}\ntimeout_ms: 4000\n",
    );
    project.write(
        "harness.md",
        b"---\nnetwork: {allowed_domains: [example.com]}\nsandbox: {hidden: [secret]}\n---\n",
    );
    let engine = project.engine().await;
    let plan = engine.plan(Some("t")).expect("a plan");
    let explained = engine
        .explain(call(
            "t",
            json!({"command": "rm -rf /", "cwd": "/", "env": {"PATH": "/x"}}),
        ))
        .await;
    assert_eq!(explained.plan, Some(plan));
    let document = explained.to_json();
    let root = project.path().canonicalize().expect("a path");
    assert_eq!(document["plan"]["files"]["workspace"], json!(root));
    assert_eq!(document["plan"]["files"]["access"], json!("read"));
    assert_eq!(
        document["plan"]["files"]["hidden"],
        json!([root.join("secret")])
    );
    assert_eq!(document["plan"]["network"], json!(["example.com"]));
    assert_eq!(
        document["plan"]["environment"],
        json!(["PATH", "HOME", "LANG", "TERM", "TMPDIR"])
    );
    let limits = &document["plan"]["limits"];
    assert_eq!(
        (
            &limits["processes"],
            &limits["memory_bytes"],
            &limits["deadline_ms"]
        ),
        (&json!(9), &json!(100 << 20), &json!(4000))
    );
    assert!(engine.plan(None).is_some() && engine.plan(Some("unknown")).is_none());
}
