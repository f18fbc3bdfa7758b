//! Processes and requests of tools: what the plan allows happens, what it does not is refused, and the result says what held.

use crate::support::{Project, call, code, hook_with, tool, tool_with};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tool_harness::artifact::Authority;
use tool_harness::engine::Engine;
use tool_harness::outside::Machine;
use tool_harness::plan::Surroundings;
use tool_harness_sandbox::tier::Tier;

const SHELL: &str = "def run(args):\n    return exec.run(\"sh\", [\"-c\", args[\"command\"]], args.get(\"timeout_ms\", 20000))";
const FETCH: &str = "def run(args):\n    return http.get(args[\"url\"], timeout_seconds=5)";
const ROOT: (&str, &str) = ("harness.md", "---\nformat: 1\n---\n");

/// A shell that a project with a root file may run.
fn shell(fields: &str) -> Project {
    Project::new(&[
        ROOT,
        (".harness/tools/t.md", &tool_with(fields, SHELL)),
        ("src/a.txt", "a"),
        ("secret/key.txt", "secret"),
    ])
}

async fn run(engine: &Engine, command: &str) -> Value {
    let result = engine.call(call("t", json!({"command": command}))).await;
    result
        .value
        .clone()
        .unwrap_or_else(|| panic!("{command}: {}", result.text()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_gives_its_output_and_exit_code_and_the_result_says_what_held() {
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
async fn a_timeout_returns_what_was_captured_and_says_that_it_was_one() {
    let project = shell("");
    let started = Instant::now();
    let result = project
        .engine()
        .await
        .call(call(
            "t",
            json!({"command": "echo early; sleep 100", "timeout_ms": 300}),
        ))
        .await;
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    let value = result.value.expect("a value");
    assert_eq!(
        (&value["stdout"], &value["timed_out"], &value["ok"]),
        (&json!("early\n"), &json!(true), &json!(false))
    );
    let killed = project
        .events
        .all()
        .into_iter()
        .find(|event| event.name == "process.killed")
        .expect("an event");
    assert_eq!(
        (&killed.fields["program"], &killed.fields["builtin"]),
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

/// How many processes of this machine have a word among their arguments.
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
async fn a_tool_is_kept_to_its_folder_by_files_and_by_processes() {
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
async fn no_permission_of_a_tool_opens_what_governs_calls() {
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
async fn what_is_hidden_is_seen_by_no_script_and_no_process() {
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
async fn only_listed_programs_are_executed_whatever_they_are_called_and_env_adds_no_other_code() {
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
async fn without_a_tier_nothing_is_started_and_without_a_root_file_processes_ask_below_tier_a() {
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

/// A server on loopback that answers every request, until the test ends.
#[expect(
    clippy::disallowed_types,
    reason = "the server under test is this test's own"
)]
fn server() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked);
            let body = if asked.starts_with(b"GET /large ") {
                "x".repeat(9 << 20)
            } else {
                "hello".to_owned()
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nX-Seen: yes\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(body.as_bytes()));
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_reach_listed_hosts_and_no_others_and_a_layer_or_a_tool_only_narrows_the_list() {
    let port = server();
    let (url, listed) = (
        format!("http://127.0.0.1:{port}/a"),
        format!("\"127.0.0.1:{port}\""),
    );
    let layers = TempDir::new().expect("a folder");
    let layer = layers.path().join("harness.md");
    for (project_list, tool_list, machine_list, reached) in [
        (Some(listed.as_str()), None, None, true),
        (Some(&*listed), Some(&*listed), Some(&*listed), true),
        (None, None, None, false),
        (None, Some(&*listed), Some(&*listed), false),
        (Some("example.com"), Some(&*listed), None, false),
        (Some(&*listed), Some("example.com"), None, false),
        (Some(&*listed), None, Some("example.com"), false),
        (Some("\"*\""), None, None, false),
    ] {
        let root = project_list.map_or(String::new(), |list| {
            format!("network: {{allowed_domains: [{list}]}}\n")
        });
        let fields = tool_list.map_or(String::new(), |list| {
            format!("permissions: [{{kind: network, hosts: [{list}]}}]\n")
        });
        let project = Project::new(&[
            ("harness.md", &format!("---\n{root}---\n")),
            (".harness/tools/t.md", &tool_with(&fields, FETCH)),
        ]);
        let above = machine_list.map_or(String::new(), |list| {
            format!("network: {{allowed_domains: [{list}]}}\n")
        });
        std::fs::write(&layer, format!("---\n{above}---\n")).expect("a file");
        let engine = project
            .builder()
            .layer(Authority::Machine, &layer)
            .load()
            .await
            .expect("loads");
        let result = engine.call(call("t", json!({"url": url}))).await;
        let case = format!(
            "{project_list:?} {tool_list:?} {machine_list:?}: {}",
            result.text()
        );
        if reached {
            let value = result.value.expect("a value");
            assert_eq!(
                (&value["ok"], &value["status"], &value["body"]),
                (&json!(true), &json!(200), &json!("hello")),
                "{case}"
            );
            assert_eq!(
                (&value["headers"]["x-seen"], &value["url"]),
                (&json!("yes"), &json!(url)),
                "{case}"
            );
        } else {
            assert_eq!(code(&result), "sandbox.denied", "{case}");
            assert!(result.text().contains("127.0.0.1"), "{case}");
            let denied = project
                .events
                .all()
                .into_iter()
                .find(|event| event.name == "network.denied")
                .expect("an event");
            assert_eq!(
                (&denied.fields["host"], &denied.fields["builtin"]),
                (&json!("127.0.0.1"), &json!("http.get"))
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_long_says_that_there_was_more() {
    let port = server();
    let script = "def run(args):\n    got = http.get(args[\"url\"])\n    return [len(got[\"body\"]), got[\"truncated\"]]";
    let root = format!("---\nnetwork: {{allowed_domains: [\"127.0.0.1:{port}\"]}}\n---\n");
    let project = Project::new(&[
        ("harness.md", &root),
        (".harness/tools/t.md", &tool_with("", script)),
    ]);
    let engine = project.engine().await;
    for (path, expected) in [
        ("large", json!([8 << 20, true])),
        ("small", json!([5, false])),
    ] {
        let result = engine
            .call(call(
                "t",
                json!({"url": format!("http://127.0.0.1:{port}/{path}")}),
            ))
            .await;
        assert_eq!(
            result.value.as_ref(),
            Some(&expected),
            "{path}: {}",
            result.text()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_reach_the_same_list_unless_the_tool_is_local_or_a_ceiling_says_no_network() {
    let port = server();
    let command = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\\r\\n' >&3 && cat <&3"
    );
    let script = "def run(args):\n    return exec.run(\"bash\", [\"-c\", args[\"command\"]], 5000)";
    for (root, fields, reached) in [
        ("", "", true),
        ("policy: {side_effect_level: process_exec}\n", "", false),
        ("policy: {effects: [read, write, exec]}\n", "", false),
        ("", "safety: {local_only: true}\n", false),
    ] {
        let root =
            format!("---\nnetwork: {{allowed_domains: [\"127.0.0.1:{port}\"]}}\n{root}---\n");
        let project = Project::new(&[
            ("harness.md", &root),
            (".harness/tools/t.md", &tool_with(fields, script)),
        ]);
        let engine = project.engine().await;
        if engine.outside().tier() != Tier::A {
            println!("skipped: processes have no network below tier A");
            return;
        }
        let value = run(&engine, &command).await;
        assert_eq!(
            value["stdout"]
                .as_str()
                .is_some_and(|text| text.contains("hello")),
            reached,
            "{root} {fields}: {value}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_reaches_the_hosts_it_declares_and_only_those() {
    let port = server();
    let script = format!(
        "def handle(event, payload):\n    return allow() if http.get(\"http://127.0.0.1:{port}/\")[\"body\"] == \"hello\" else block(\"no\")"
    );
    let root = format!("---\nnetwork: {{allowed_domains: [\"127.0.0.1:{port}\"]}}\n---\n");
    for (fields, expected) in [
        (
            format!(
                "timeout_ms: 5000\npermissions: [{{kind: network, hosts: [\"127.0.0.1:{port}\"]}}]\n"
            ),
            "none",
        ),
        (
            "timeout_ms: 5000\npermissions: [{kind: network, hosts: [example.com]}]\n".to_owned(),
            "tool.hook.failed",
        ),
        ("timeout_ms: 5000\n".to_owned(), "tool.hook.failed"),
    ] {
        let echo = tool("def run(args):\n    return 1");
        let project = Project::new(&[
            ("harness.md", &root),
            (".harness/tools/t.md", &echo),
            (
                ".harness/hooks/ask_elsewhere.md",
                &hook_with("tool.pre", &fields, &script),
            ),
        ]);
        let result = project.engine().await.call(call("t", json!({}))).await;
        assert_eq!(code(&result), expected, "{fields}: {}", result.text());
    }
}

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
async fn rules_of_every_layer_count_and_say_which_line_of_which_file_they_came_from() {
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
        .registry()
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
            "the smaller limit counts"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_that_is_broken_stops_everything_and_is_named() {
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
        "files that are not there say nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_is_turned_off_by_a_person_and_never_by_a_project() {
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
async fn places_and_variables_are_opened_by_a_layer_and_not_by_a_project() {
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
async fn a_link_that_a_command_left_where_a_layer_opens_a_place_opens_nothing() {
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

#[test]
fn every_test_here_passes_for_an_ordinary_user() {
    crate::support::user::run_every_test_as_an_ordinary_user("outside");
}
