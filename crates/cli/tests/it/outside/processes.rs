//! Processes of a tool: output, exit, folders, programs.

use super::{ROOT, SHELL, run, shell};
use crate::support::program::SOON;
use crate::support::{Project, call, code, tool, tool_with};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool_harness::outside::Machine;
use tool_harness_sandbox::tier::Tier;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_returns_output_and_exit_code_and_the_result_says_what_was_enforced() {
    let project = shell("");
    let engine = project.engine().await;
    let result = engine
        .call(call(
            "t",
            json!({"command": "echo out; echo err >&2; exit 3"}),
        ))
        .await;
    let value = result.value.clone().expect("a value");
    let keys: Vec<&str> = value
        .as_object()
        .expect("a dict")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        keys,
        [
            "ok",
            "stdout",
            "stderr",
            "exit_code",
            "timed_out",
            "duration_ms",
            "truncated"
        ]
    );
    assert_eq!(
        (&value["stdout"], &value["stderr"], &value["exit_code"]),
        (&json!("out\n"), &json!("err\n"), &json!(3))
    );
    assert_eq!(
        (&value["ok"], &value["timed_out"]),
        (&json!(false), &json!(false))
    );
    let held = result.to_json()["enforced"].clone();
    assert!(
        ["A", "B"].contains(&held["tier"].as_str().expect("a tier"))
            && held["files"].is_string()
            && held["memory"].is_string(),
        "{held}"
    );
    run(&engine, "echo b > b.txt").await;
    assert_eq!(
        std::fs::read_to_string(project.path().join("b.txt")).expect("written"),
        "b\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_returns_the_captured_output_and_says_that_it_timed_out() {
    let project = shell("");
    let started = Instant::now();
    let result = project
        .engine()
        .await
        .call(call(
            "t",
            json!({"command": "echo early; sleep 100", "timeout_ms": 1500}),
        ))
        .await;
    assert!(started.elapsed() < 2 * SOON, "{:?}", started.elapsed());
    let value = result.value.expect("a value");
    assert_eq!(
        (&value["stdout"], &value["timed_out"], &value["ok"]),
        (&json!("early\n"), &json!(true), &json!(false))
    );
    let killed = project
        .events
        .all()
        .into_iter()
        .find(|event| event.name() == "process.killed")
        .expect("an event");
    assert_eq!(
        (&killed.fields()["program"], &killed.fields()["builtin"]),
        (&json!("sh"), &json!("exec.run"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_or_one_past_its_deadline_leaves_no_process() {
    for timeout_ms in [0, 400] {
        let project = shell(&format!("timeout_ms: {timeout_ms}\n"));
        let engine = project.engine().await;
        let marker = format!("1000.{}{timeout_ms}", std::process::id());
        let request = call(
            "t",
            json!({"command": format!("setsid sleep {marker} & sleep {marker}")}),
        );
        let cancel = request.cancel.clone();
        if timeout_ms == 0 {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(400)).await;
                cancel.cancel();
            });
        }
        let result = engine.call(request).await;
        assert_eq!(
            code(&result),
            if timeout_ms == 0 {
                "tool.cancelled"
            } else {
                "tool.timeout"
            }
        );
        assert_eq!(running(&marker), 0, "{timeout_ms}");
    }
}

/// How many processes on this machine have a word among their arguments.
fn running(word: &str) -> usize {
    let commands = std::fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands
        .filter(|command| {
            command
                .split(|byte| *byte == 0)
                .any(|part| part == word.as_bytes())
        })
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_only_reads_starts_processes_that_cannot_write() {
    for fields in [
        "safety: {filesystem: read}\n",
        "permissions: [{kind: filesystem, access: read}]\n",
    ] {
        let project = shell(fields);
        let engine = project.engine().await;
        assert_eq!(
            run(&engine, "cat src/a.txt").await["stdout"],
            json!("a"),
            "{fields}"
        );
        assert_ne!(
            run(&engine, "echo b > src/a.txt").await["exit_code"],
            json!(0),
            "{fields}"
        );
        assert_eq!(
            std::fs::read_to_string(project.path().join("src/a.txt")).expect("there"),
            "a",
            "{fields}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_confined_to_its_folder_for_files_and_processes() {
    let read = "def run(args):\n    return fs.read(args[\"path\"])";
    for fields in [
        "safety: {workspace_root: src}\n",
        "permissions: [{kind: filesystem, access: write, path: src}]\n",
    ] {
        let project = shell(fields);
        project.write(
            ".harness/tools/read_it.md",
            tool_with(fields, read).as_bytes(),
        );
        let engine = project.engine().await;
        assert_eq!(
            engine
                .call(call("read_it", json!({"path": "src/a.txt"})))
                .await
                .value,
            Some(json!("a"))
        );
        let outside = engine
            .call(call("read_it", json!({"path": "secret/key.txt"})))
            .await;
        assert!(
            outside.is_error && outside.text().contains("outside what this tool may touch"),
            "{fields}: {}",
            outside.text()
        );
        let seen = run(
            &engine,
            &format!("cat a.txt; cat {}/secret/key.txt", project.path().display()),
        )
        .await;
        assert_eq!(seen["stdout"], json!("a"), "{fields}");
        assert_eq!(
            run(&engine, "echo b > c.txt").await["exit_code"],
            json!(0),
            "{fields}"
        );
        assert!(project.path().join("src/c.txt").exists(), "{fields}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_permission_of_a_tool_opens_protected_files() {
    let governed = |fields: &str, command: &str, untouched: &str, text: &str| {
        let (fields, command, untouched, text) = (
            fields.to_owned(),
            command.to_owned(),
            untouched.to_owned(),
            text.to_owned(),
        );
        async move {
            let project = shell(&fields);
            project.write("pkg/.claude/settings.json", b"{}");
            project.write("docs/a.md", b"a");
            let _ = project
                .engine()
                .await
                .call(call("t", json!({"command": command})))
                .await;
            let now = std::fs::read_to_string(project.path().join(&untouched)).unwrap_or_default();
            assert_eq!(now, text, "{fields}");
        }
    };
    let both = "permissions: [{kind: filesystem, access: write, path: docs}, {kind: filesystem, access: write, path: .}]\n";
    governed(both, "echo evil >> harness.md", "harness.md", ROOT.1).await;
    let second = "permissions: [{kind: filesystem, access: read, path: docs}, {kind: filesystem, access: write, path: pkg}]\n";
    governed(
        second,
        "echo evil > .claude/settings.json",
        "pkg/.claude/settings.json",
        "{}",
    )
    .await;
    let last = "permissions: [{kind: filesystem, access: write, path: docs}, {kind: filesystem, access: write, path: pkg}]\n";
    governed(
        last,
        "echo evil > ../pkg/.claude/settings.json; mv ../pkg/.claude ../pkg/x",
        "pkg/.claude/settings.json",
        "{}",
    )
    .await;
    governed(
        last,
        "mkdir -p ../pkg/deep/.harness; echo evil > ../pkg/deep/.harness/x",
        "pkg/deep/.harness/x",
        "",
    )
    .await;
    let itself = "permissions: [{kind: filesystem, access: write, path: .harness}]\n";
    governed(
        itself,
        "echo evil > tools/x.md; echo evil > .harness/tools/x.md",
        ".harness/tools/x.md",
        "",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_script_and_no_process_sees_hidden_files() {
    let read = "def run(args):\n    return [fs.read(\"src/a.txt\"), fs.glob(\"**\"), fs.list(\".\"), fs.read(\"secret/key.txt\")]";
    let project = shell("");
    project.write("harness.md", b"---\nsandbox: {hidden: [secret]}\n---\n");
    project.write(".harness/tools/read_it.md", tool(read).as_bytes());
    project.write(
        ".harness/tools/list_it.md",
        tool("def run(args):\n    return fs.glob(\"**/*.txt\")").as_bytes(),
    );
    let engine = project.engine().await;
    let result = engine.call(call("read_it", json!({}))).await;
    assert!(
        result.is_error && result.text().contains("secret/key.txt"),
        "{}",
        result.text()
    );
    assert_eq!(
        engine.call(call("list_it", json!({}))).await.value,
        Some(json!(["src/a.txt"]))
    );
    assert_eq!(
        run(&engine, "cat src/a.txt; cat secret/key.txt").await["stdout"],
        json!("a")
    );
    assert!(project.events.names().contains(&"file.denied".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_listed_programs_run_under_any_name_and_env_adds_no_other_code() {
    let script = "def run(args):\n    return exec.run(args[\"cmd\"], args.get(\"args\", []), env=args.get(\"env\"))";
    let fields = "permissions: [{kind: shell, programs: [cat]}]\n";
    let project = Project::new(&[
        ROOT,
        (".harness/tools/t.md", &tool_with(fields, script)),
        ("a.txt", "a"),
    ]);
    std::os::unix::fs::symlink("/bin/ls", project.path().join("cat")).expect("a link");
    let engine = project.engine().await;
    let asked = async |arguments: Value| engine.call(call("t", arguments)).await;
    assert_eq!(
        asked(json!({"cmd": "cat", "args": ["a.txt"]}))
            .await
            .value
            .expect("a value")["stdout"],
        json!("a")
    );
    for arguments in [
        json!({"cmd": "ls"}),
        json!({"cmd": "./cat"}),
        json!({"cmd": "/bin/ls"}),
        json!({"cmd": "cat", "env": {"LD_PRELOAD": "/tmp/x.so"}}),
        json!({"cmd": "cat", "env": {"LD_LIBRARY_PATH": "/tmp"}}),
        json!({"cmd": "cat", "env": {"PATH": "/tmp"}}),
        json!({"cmd": "cat", "env": {"BASH_ENV": "x"}}),
    ] {
        let result = asked(arguments.clone()).await;
        assert_eq!(
            code(&result),
            "sandbox.denied",
            "{arguments}: {}",
            result.text()
        );
    }
    assert!(
        !asked(json!({"cmd": "cat", "args": ["a.txt"], "env": {"GREETING": "hi"}}))
            .await
            .is_error
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_starts_in_a_folder_of_the_workspace() {
    let script = "def run(args):\n    return exec.run(\"pwd\", cwd=args[\"cwd\"])[\"stdout\"]";
    let project = Project::new(&[
        ROOT,
        (".harness/tools/t.md", &tool(script)),
        ("src/a.txt", "a"),
    ]);
    std::os::unix::fs::symlink("/etc", project.path().join("out")).expect("a link");
    let engine = project.engine().await;
    let root = project.path().canonicalize().expect("a path");
    let inside = engine.call(call("t", json!({"cwd": "src"}))).await;
    assert_eq!(
        inside.value,
        Some(json!(format!("{}/src\n", root.display()))),
        "{}",
        inside.text()
    );
    for cwd in ["..", "/etc", "out", "../.."] {
        let result = engine.call(call("t", json!({"cwd": cwd}))).await;
        assert_eq!(code(&result), "sandbox.denied", "{cwd}: {}", result.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_tier_nothing_starts_and_without_a_root_file_processes_below_tier_a_need_approval()
 {
    let project = shell("");
    let none = project
        .builder()
        .outside(Arc::new(Machine::with_tier(Tier::None)))
        .load()
        .await
        .expect("loads");
    let result = none
        .call(call("t", json!({"command": "touch started"})))
        .await;
    assert_eq!(code(&result), "sandbox.unavailable", "{}", result.text());
    assert!(!project.path().join("started").exists());
    let bare = Project::new(&[(".harness/tools/t.md", &tool(SHELL))]);
    for (tier, expected) in [
        (Tier::B, "tool.approval.denied"),
        (Tier::None, "tool.approval.denied"),
    ] {
        let engine = bare
            .builder()
            .outside(Arc::new(Machine::with_tier(tier)))
            .load()
            .await
            .expect("loads");
        let result = engine.call(call("t", json!({"command": "true"}))).await;
        assert_eq!(code(&result), expected, "{tier}: {}", result.text());
    }
    let engine = bare.engine().await;
    if engine.outside().tier() == Tier::A {
        assert_eq!(run(&engine, "true").await["ok"], json!(true));
    }
}
