//! Every command as a person meets it: what it prints where, and how it ends.

use crate::support::program::{descendants, gone, harness, harness_reading, prepared, signal};
use crate::support::{Project, hook, hook_with, tool, tool_with};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const COMMANDS: [&str; 13] = [
    "init",
    "new",
    "validate",
    "call",
    "explain",
    "list",
    "tools",
    "inspect",
    "test",
    "demo",
    "install",
    "completions",
    "version",
];

/// Tools and hooks for every way a call can end.
fn project() -> Project {
    let path = "parameters:\n  path: { type: string, required: true }\n";
    Project::new(&[
        (
            "harness.md",
            "---\nformat: 1\ntools_policy:\n  deny: [delete_note]\n---\nBe brief.\n",
        ),
        ("note.txt", "milk\n"),
        ("deep/er/here.txt", ""),
        (
            ".harness/tools/read_note.md",
            &tool_with(
                path,
                "def run(args):\n    return {\"text\": fs.read(args[\"path\"])}",
            ),
        ),
        (
            ".harness/tools/delete_note.md",
            &tool("def run(args):\n    return 1"),
        ),
        (
            ".harness/tools/fail_loudly.md",
            &tool("def run(args):\n    return {\"error\": \"out of milk\"}"),
        ),
        (
            ".harness/tools/wait_long.md",
            &tool("def run(args):\n    sleep(60)\n    return 1"),
        ),
        (
            ".harness/tools/loop_long.md",
            &tool("def run(args):\n    return [i for i in range(1000000000)][:1]"),
        ),
        (
            ".harness/tools/say_hello.md",
            &tool("def run(args):\n    print(\"thinking\")\n    return \"hello\""),
        ),
        (
            ".harness/hooks/guard.md",
            &hook(
                "tool.pre",
                "def handle(event, payload):\n    if payload[\"args\"].get(\"path\") == \"secret\":\n        return block(\"it is secret\")\n    return allow()",
            ),
        ),
    ])
}

#[test]
fn each_exit_code_is_the_one_of_the_reference() {
    let project = project();
    for (words, code) in [
        (["call", "read_note", "path=note.txt"].as_slice(), 0),
        (&["call", "fail_loudly"], 1),
        (&["call", "no_such_tool"], 1),
        (&["call", "read_note", "path:=1"], 1),
        (&["call", "read_note", "--args", "{"], 1),
        (&["call", "read_note"], 1),
        (&["call", "read_note", "path"], 2),
        (&["call", "read_note", "path:=maybe"], 2),
        (&["call", "read_note", "path=a", "path=b"], 2),
        (&["call", "say_hello", "--mode", "night"], 2),
        (&["call", "say_hello", "--timeout-ms", "soon"], 2),
        (&["call", "delete_note"], 3),
        (&["call", "read_note", "path=secret"], 3),
        (
            &["call", "say_hello", "--timeout-ms", "18446744073709551615"],
            0,
        ),
        (&["call", "wait_long", "--timeout-ms", "100"], 4),
        (&["call", "wait_long", "--timeout-ms", "0"], 4),
        (&["call", "loop_long", "--timeout-ms", "100"], 4),
        (&["explain", "read_note", "path=note.txt"], 0),
        (&["explain", "read_note", "path=secret"], 3),
        (&["explain", "read_note"], 1),
        (&["explain", "tool.denied"], 0),
        (&["explain", "NAME_VERB"], 0),
        (&["explain", "NO_SUCH_CODE"], 2),
        (&["explain", "NAME_VERB", "a=b"], 2),
        (&["inspect", "read_note"], 0),
        (&["inspect", "no_such_tool"], 2),
        (&["inspect", "read_note", "--policy"], 2),
        (&["list", "ghosts"], 2),
        (&["tools", "--mode", "night"], 2),
        (&["tools", "--format", "xml"], 2),
        (&["test", "no_such_tool"], 2),
        (&["validate"], 0),
        (&["nonsense"], 2),
        (&["--project", "nowhere", "list"], 2),
        (&["completions", "bash"], 0),
        (&["completions", "cobol"], 2),
        (&["version"], 0),
        (&["--version"], 0),
        (&["--help"], 0),
        (&[], 2),
    ] {
        let ran = harness(project.path(), words);
        assert_eq!(
            ran.code,
            Some(code),
            "{words:?}: stdout `{:.300}` stderr `{:.300}`",
            ran.out,
            ran.err
        );
        assert!(
            !ran.err.contains("panicked")
                && !ran.out.contains('\u{1b}')
                && !ran.err.contains('\u{1b}'),
            "{words:?}"
        );
        assert!(
            code != 2 || (ran.out.is_empty() && !ran.err.is_empty()),
            "{words:?} complains elsewhere: {:.200}",
            ran.out
        );
    }
}

#[test]
fn every_command_explains_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = harness(folder.path(), &["--help"]).ends(0).out;
    for command in COMMANDS {
        assert!(
            all.contains(&format!("  {command} ")),
            "{command} is not listed"
        );
        let help = harness(folder.path(), &[command, "--help"]).ends(0);
        assert!(
            help.out.contains(&format!("Usage: harness {command}")) && help.err.is_empty(),
            "{command}"
        );
    }
}

#[test]
fn json_is_one_document_on_stdout_and_nothing_else_anywhere() {
    let project = project();
    for (words, keys) in [
        (
            ["call", "read_note", "path=note.txt"].as_slice(),
            ["call_id", "elapsed_ms"].as_slice(),
        ),
        (&["call", "say_hello"], &["content"]),
        (&["call", "no_such_tool"], &["error"]),
        (&["call", "delete_note"], &["error"]),
        (&["call", "wait_long", "--timeout-ms", "100"], &["error"]),
        (
            &["explain", "read_note", "path=note.txt"],
            &["tool", "decision", "arguments", "effects", "stages"],
        ),
        (
            &["explain", "read_note", "path=secret"],
            &["tool", "decision", "error", "stages"],
        ),
        (
            &["explain", "NAME_VERB"],
            &["code", "severity", "why", "page"],
        ),
        (
            &["explain", "tool.timeout"],
            &["code", "class", "meaning", "who"],
        ),
        (&["list"], &["tools", "hooks"]),
        (&["list", "tools"], &["tools"]),
        (&["list", "hooks"], &["hooks"]),
        (&["tools"], &["mode", "tools"]),
        (
            &["inspect"],
            &["project", "root", "stopped", "tools", "hooks", "rules"],
        ),
        (&["inspect", "--policy"], &["rules"]),
        (
            &["inspect", "read_note"],
            &["name", "input_schema", "rules"],
        ),
        (&["test"], &["passed", "failed", "skipped", "examples"]),
        (&["validate"], &["valid", "diagnostics"]),
        (&["version"], &["name", "version", "format"]),
    ] {
        let ran = harness(project.path(), &[words, &["--json"]].concat());
        let document = ran.document();
        assert_eq!(ran.err, "", "{words:?}");
        for key in keys {
            assert!(document.get(key).is_some(), "{words:?} has no `{key}`");
        }
    }
    for words in [
        ["tools", "--format", "json"],
        ["validate", "--format", "json"],
    ] {
        let ran = harness(project.path(), &words).ends(0);
        assert!(
            ran.document().is_object() && ran.err.is_empty(),
            "{words:?}"
        );
    }
}

/// Fails unless the document has exactly these keys.
fn has_exactly(document: &Value, expected: &[&str]) {
    let keys: Vec<&str> = document
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, expected, "{document:.400}");
}

#[test]
fn the_result_document_has_the_fields_of_the_reference_and_no_empty_ones() {
    let project = Project::new(&[
        (
            ".harness/tools/get_value.md",
            &tool("def run(args):\n    return {\"n\": 1}"),
        ),
        (
            ".harness/tools/get_text.md",
            &tool("def run(args):\n    return result(content = \"only text\")"),
        ),
        (
            ".harness/tools/get_all.md",
            &tool(
                "def run(args):\n    return result(content = \"wrote it\", data = {\"n\": 1}, refs = [{\"kind\": \"file\", \"path\": \"a.md\", \"role\": \"created\"}], metadata = {\"took\": 2})",
            ),
        ),
        (
            ".harness/tools/get_error.md",
            &tool(
                "def run(args):\n    return error(\"full\", \"no room\", metadata = {\"left\": 0})",
            ),
        ),
    ]);
    let call = |name: &str, code: i32| {
        let document = harness(project.path(), &["call", name, "--json"])
            .ends(code)
            .document();
        assert!(
            document["call_id"]
                .as_str()
                .is_some_and(|id| id.starts_with("call_")),
            "{document:.200}"
        );
        assert!(
            document["elapsed_ms"]
                .as_f64()
                .is_some_and(|elapsed| elapsed > 0.0),
            "{document:.200}"
        );
        assert_eq!(document["is_error"], json!(code != 0));
        document
    };
    let value = call("get_value", 0);
    has_exactly(
        &value,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "value",
            "enforced",
            "elapsed_ms",
        ],
    );
    assert_eq!(
        (&value["name"], &value["value"]),
        (&json!("get_value"), &json!({"n": 1}))
    );
    assert_eq!(
        value["content"],
        json!([{"type": "text", "text": "{\"n\":1}"}])
    );
    has_exactly(&value["enforced"], &["tier"]);

    let text = call("get_text", 0);
    has_exactly(
        &text,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "enforced",
            "elapsed_ms",
        ],
    );

    let all = call("get_all", 0);
    has_exactly(
        &all,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "value",
            "refs",
            "metadata",
            "enforced",
            "elapsed_ms",
        ],
    );
    assert_eq!(
        all["refs"],
        json!([{"kind": "file", "path": "a.md", "role": "created"}])
    );
    assert_eq!(all["metadata"], json!({"took": 2}));

    let error = call("get_error", 1);
    has_exactly(
        &error,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "metadata",
            "error",
            "enforced",
            "elapsed_ms",
        ],
    );
    has_exactly(&error["error"], &["code", "class", "message", "details"]);
    assert_eq!(error["error"]["details"]["code"], "full");

    let unknown = call("get_nothing", 1);
    has_exactly(
        &unknown,
        &[
            "call_id",
            "name",
            "is_error",
            "content",
            "error",
            "elapsed_ms",
        ],
    );
    assert_eq!(
        (&unknown["error"]["code"], &unknown["error"]["class"]),
        (&json!("tool.unknown"), &json!("repairable"))
    );
}

#[test]
fn without_a_project_every_command_that_needs_one_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    for words in [
        ["validate"].as_slice(),
        &["call", "x"],
        &["explain", "x"],
        &["list"],
        &["tools"],
        &["inspect"],
        &["test"],
    ] {
        let ran = harness(folder.path(), words).ends(2);
        assert!(
            ran.err
                .contains("no harness project here; run harness init"),
            "{words:?}: {}",
            ran.err
        );
        assert_eq!(ran.out, "", "{words:?}");
    }
    for words in [
        ["version"].as_slice(),
        &["completions", "zsh"],
        &["explain", "tool.unknown"],
        &["explain", "NAME_STYLE"],
    ] {
        harness(folder.path(), words).ends(0);
    }
}

#[test]
fn a_new_project_passes_its_own_checks_and_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    let made = harness(here, &["init"]).ends(0);
    assert!(
        made.out.contains("created") && made.out.contains("harness test"),
        "{}",
        made.out
    );
    let report = harness(here, &["validate", "--json", "--deny-warnings"])
        .ends(0)
        .document();
    assert_eq!(report["valid"], true, "{report:.500}");
    let tested = harness(here, &["test", "--json"]).ends(0).document();
    assert_eq!(tested["failed"], 0);
    assert!(
        tested["passed"].as_u64().is_some_and(|passed| passed > 10),
        "{tested:.200}"
    );

    let names: Vec<Value> = harness(here, &["tools", "--format", "json"])
        .ends(0)
        .document()["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(
        names,
        [
            "http_get",
            "read_artifact",
            "read_file",
            "run_command",
            "search_code",
            "write_file"
        ]
    );
    let listed = harness(here, &["list"]).ends(0).out;
    assert!(
        listed.contains("read_file") && listed.contains("guard_paths"),
        "{listed}"
    );
    let policy = harness(here, &["inspect", "--policy"]).ends(0).out;
    assert!(
        policy.contains("tools_policy.deny: fs.remove") && policy.contains("(harness.md:5:"),
        "{policy}"
    );

    harness(
        here,
        &["call", "write_file", "path=notes/a.md", "content=milk"],
    )
    .ends(0);
    let read = harness(here, &["call", "read_file", "path=notes/a.md"]).ends(0);
    assert!(read.out.starts_with("text: milk\n"), "{}", read.out);
    assert!(read.err.contains("read_file: done in "), "{}", read.err);
    let explained = harness(here, &["explain", "read_file", "path=../x"])
        .ends(3)
        .out;
    assert!(
        explained.contains("✗ before") && explained.contains("would be refused: tool.hook.blocked"),
        "{explained}"
    );

    let again = harness(here, &["init"]).ends(0);
    assert!(again.out.contains("0 created"), "{}", again.out);
    let refused = harness(here, &["new", "."]).ends(2);
    assert!(
        refused.err.contains("is not empty") && refused.err.contains("harness init"),
        "{}",
        refused.err
    );
    harness(here, &["new", "another"]).ends(0);
    harness(here, &["--project", "another", "validate"]).ends(0);
}

#[test]
fn a_subfolder_belongs_to_the_project_above_it() {
    let project = project();
    let below = project.path().join("deep/er");
    let read = harness(&below, &["call", "read_note", "path=note.txt", "--json"])
        .ends(0)
        .document();
    assert_eq!(
        read["value"],
        json!({"text": "milk\n"}),
        "paths start at the project, not at the subfolder"
    );
    let shown = harness(&below, &["inspect", "--json"]).ends(0).document();
    let named = Path::new(shown["project"].as_str().expect("a path"))
        .canonicalize()
        .expect("exists");
    assert_eq!(named, project.path().canonicalize().expect("exists"));
}

#[test]
fn arguments_come_as_pairs_as_json_and_from_standard_input() {
    let project = Project::new(&[(
        ".harness/tools/get_arguments.md",
        &tool_with(
            "parameters:\n  n: { type: integer }\n  s: { type: string }\n",
            "def run(args):\n    return args",
        ),
    )]);
    let here = project.path();
    for (words, expected) in [
        (["n=3", "s=3"].as_slice(), json!({"n": 3, "s": "3"})),
        (&["n:=3", "extra:=[1]"], json!({"n": 3, "extra": [1]})),
        (&["--args", r#"{"n": 3}"#, "s=x"], json!({"n": 3, "s": "x"})),
        (&["s==", "--args", "{}"], json!({"s": "="})),
    ] {
        let document = harness(
            here,
            &[["call", "get_arguments", "--json"].as_slice(), words].concat(),
        )
        .ends(0)
        .document();
        assert_eq!(document["value"], expected, "{words:?}");
    }
    let read = harness_reading(
        here,
        &["call", "get_arguments", "--args", "-", "--json"],
        r#"{"n": 12345678901234567890123}"#,
    );
    assert!(
        read.ends(0).out.contains("12345678901234567890123"),
        "an integer of any size arrives exactly"
    );
}

#[test]
fn a_call_shows_what_the_tool_prints_and_events_are_one_object_a_line() {
    let project = project();
    let plain = harness(project.path(), &["call", "say_hello"]).ends(0);
    assert_eq!(plain.out, "hello\n");
    assert!(plain.err.starts_with("info: thinking\n"), "{}", plain.err);
    for words in [
        ["call", "say_hello", "--events"].as_slice(),
        &["call", "say_hello", "--events", "--json"],
    ] {
        let ran = harness(project.path(), words).ends(0);
        let lines: Vec<&str> = ran
            .err
            .lines()
            .filter(|line| line.starts_with('{'))
            .collect();
        let events: Vec<Value> = lines
            .iter()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let names: Vec<&str> = events
            .iter()
            .filter_map(|event| event["event"].as_str())
            .collect();
        assert_eq!(
            names,
            ["tool.started", "log", "tool.completed"],
            "{words:?}"
        );
        assert!(
            events
                .iter()
                .all(|event| event["call_id"] == events[0]["call_id"] && event["time_ms"].is_u64())
        );
        let others = ran.err.lines().count() - lines.len();
        assert_eq!(
            others,
            usize::from(!words.contains(&"--json")),
            "people's words go with people's output: {}",
            ran.err
        );
    }
    let refused = harness(
        project.path(),
        &["call", "delete_note", "--events", "--json"],
    )
    .ends(3);
    let names: Vec<Value> = refused
        .err
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["event"].clone())
        .collect();
    assert_eq!(names, ["rule.decided", "tool.rejected"]);
}

/// Starts a call that takes a minute, sends a signal once it runs, and checks how it ends.
fn interrupted(project: &Project, words: &[&str], name: &str) {
    let mut child = prepared(project.path(), words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut events = BufReader::new(child.stderr.take().expect("its errors"));
    let mut line = String::new();
    while !line.contains("tool.started") {
        line.clear();
        assert!(
            events.read_line(&mut line).expect("readable") > 0,
            "it ended before it started"
        );
    }
    std::thread::sleep(Duration::from_millis(150));
    let workers = descendants(child.id());
    assert!(!workers.is_empty(), "{words:?} has no worker");
    let sent = Instant::now();
    signal(child.id(), name);
    let status = child.wait().expect("it ends");
    let took = sent.elapsed();
    assert_eq!(status.code(), Some(4), "{words:?} {name}");
    assert!(
        took < Duration::from_millis(900),
        "{words:?} {name} took {took:?}"
    );
    assert_eq!(gone(&workers), [0; 0], "{words:?} {name} left processes");
    let (mut rest, mut out) = (String::new(), String::new());
    events.read_to_string(&mut rest).expect("readable");
    child
        .stdout
        .take()
        .expect("its output")
        .read_to_string(&mut out)
        .expect("readable");
    assert!(
        rest.contains("tool.failed") && rest.contains("tool.cancelled"),
        "{rest:.300}"
    );
    assert_eq!(
        serde_json::from_str::<Value>(&out).expect("one document")["error"]["code"],
        "tool.cancelled"
    );
}

#[test]
fn ctrl_c_in_the_middle_of_a_call_ends_it_quickly_and_leaves_no_process() {
    let project = project();
    for tool in ["wait_long", "loop_long"] {
        interrupted(&project, &["call", tool, "--events", "--json"], "INT");
    }
    interrupted(
        &project,
        &["call", "wait_long", "--events", "--json"],
        "TERM",
    );
}

#[test]
fn ctrl_c_while_a_hook_runs_is_a_cancelled_call_and_not_a_broken_hook() {
    let slow = "---\nevent: tool.pre\ntimeout_ms: 30000\nscript: |\n  def handle(event, payload):\n      x = [i for i in range(1000000000)]\n      return allow()\n---\nSlow.\n";
    let project = Project::new(&[
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
        (".harness/hooks/slow.md", slow),
    ]);
    interrupted(&project, &["call", "get_one", "--events", "--json"], "INT");
}

#[test]
fn a_timeout_ends_in_time_and_names_the_limit_that_applied() {
    let project = Project::new(&[
        (
            ".harness/tools/wait_freely.md",
            &tool("def run(args):\n    sleep(60)"),
        ),
        (
            ".harness/tools/wait_briefly.md",
            &tool_with("timeout_ms: 300\n", "def run(args):\n    sleep(60)"),
        ),
        (
            ".harness/tools/loop_briefly.md",
            &tool_with(
                "timeout_ms: 300\n",
                "def run(args):\n    return len([i for i in range(1000000000)])",
            ),
        ),
    ]);
    for (words, said) in [
        (
            ["wait_freely", "--timeout-ms", "200"].as_slice(),
            "within 200 ms, the limit of this call",
        ),
        (&["wait_briefly"], "within 300 ms, the tool's `timeout_ms`"),
        (&["loop_briefly"], "within 300 ms, the tool's `timeout_ms`"),
        (
            &["wait_briefly", "--timeout-ms", "5000"],
            "within 300 ms, the tool's `timeout_ms`",
        ),
        (
            &["wait_briefly", "--timeout-ms", "250"],
            "within 250 ms, the limit of this call",
        ),
    ] {
        let started = Instant::now();
        let ran = harness(project.path(), &[["call"].as_slice(), words].concat()).ends(4);
        assert!(ran.err.contains(said), "{words:?}: {}", ran.err);
        assert!(
            started.elapsed() < Duration::from_secs(3),
            "{words:?} took {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn the_time_of_a_call_covers_its_hooks() {
    let slow = hook_with(
        "tool.pre",
        "timeout_ms: 30000\n",
        "def handle(event, payload):\n    x = [i for i in range(1000000000)]\n    return allow()",
    );
    let project = Project::new(&[
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
        (".harness/hooks/slow.md", &slow),
    ]);
    let started = Instant::now();
    let ran = harness(project.path(), &["call", "get_one", "--timeout-ms", "200"]).ends(4);
    assert!(
        ran.err
            .contains("did not decide within 200 ms, the limit of this call"),
        "{}",
        ran.err
    );
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let project = project();
    for words in [
        ["tools", "--format", "json"].as_slice(),
        &["list"],
        &["completions", "bash"],
        &["validate"],
        &["inspect"],
        &["call", "say_hello"],
    ] {
        let mut child = prepared(project.path(), words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        drop(child.stdout.take());
        let mut said = String::new();
        child
            .stderr
            .take()
            .expect("its errors")
            .read_to_string(&mut said)
            .expect("readable");
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{words:?}: {said}");
        assert!(
            !said.contains("panicked") && !said.contains("error"),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn a_broken_root_file_stops_everything_but_looking() {
    let project = project();
    project.write("harness.md", b"---\nformat: 1\ntools_polcy: {}\n---\n");
    let validate = harness(project.path(), &["validate"]).ends(1);
    assert!(
        validate.out.contains("harness.md:3:1")
            && validate.out.contains("did you mean `tools_policy`"),
        "{}",
        validate.out
    );
    let inspect = harness(project.path(), &["inspect"]).ends(0);
    assert!(
        inspect.err.contains("nothing runs until it is fixed"),
        "{}",
        inspect.err
    );
    assert_eq!(
        harness(project.path(), &["inspect", "--json"])
            .ends(0)
            .document()["stopped"],
        true
    );
    for words in [
        ["call", "say_hello"].as_slice(),
        &["explain", "say_hello"],
        &["list"],
        &["tools"],
        &["test"],
    ] {
        let ran = harness(project.path(), words).ends(2);
        assert!(
            ran.err.contains("harness.md:3:1: ") && ran.err.contains("harness validate"),
            "{words:?}: {}",
            ran.err
        );
        assert_eq!(ran.out, "", "{words:?}");
    }
}

#[test]
fn files_with_windows_line_ends_and_a_byte_order_mark_work() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let guard = hook(
        "tool.pre",
        "def handle(event, payload):\n    return modify({\"args\": {\"n\": 2}})",
    );
    let project = Project::new(&[
        ("harness.md", &windows("---\nformat: 1\n---\nBe brief.\n")),
        (
            ".harness/tools/get_arguments.md",
            &windows(&tool("def run(args):\n    return args")),
        ),
        (".harness/hooks/change.md", &windows(&guard)),
    ]);
    let report = harness(project.path(), &["validate", "--json"])
        .ends(0)
        .document();
    assert_eq!(report, json!({"valid": true, "diagnostics": []}));
    let called = harness(project.path(), &["call", "get_arguments", "n:=1", "--json"])
        .ends(0)
        .document();
    assert_eq!(called["value"], json!({"n": 2}));
    project.write(
        ".harness/tools/get_arguments.md",
        windows(&tool("def run(args):\n    return nope(1)")).as_bytes(),
    );
    let report = harness(project.path(), &["validate", "--json"])
        .ends(1)
        .document();
    let found = &report["diagnostics"][0];
    assert_eq!(
        (&found["line"], &found["column"]),
        (&json!(4), &json!(14)),
        "{found}"
    );
}

#[test]
fn a_tool_file_that_gave_no_tool_is_still_listed() {
    let project = project();
    project.write(".harness/tools/read_other.md", b"no frontmatter\n");
    let listed = harness(project.path(), &["list", "tools"]).ends(0);
    let row = listed
        .out
        .lines()
        .find(|line| line.starts_with("read_other"))
        .expect("a row");
    assert!(
        row.contains("  no  ")
            && row.contains(".harness/tools/read_other.md")
            && row.contains("broken: "),
        "{row}"
    );
    assert!(listed.err.contains("harness validate"), "{}", listed.err);
    let tools = harness(project.path(), &["list", "tools", "--json"])
        .ends(0)
        .document();
    let broken: Vec<&Value> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter(|tool| tool["broken"] == true)
        .collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(
        (&broken[0]["name"], &broken[0]["offered"]),
        (&json!("read_other"), &json!(false))
    );
    let inspected = harness(project.path(), &["inspect", "read_other"]).ends(2);
    assert!(
        inspected.err.contains("has an error in its file"),
        "{}",
        inspected.err
    );
    harness(project.path(), &["validate"]).ends(1);
    harness(project.path(), &["call", "say_hello"]).ends(0);
}

#[test]
fn warnings_count_only_when_asked_to() {
    let project = Project::new(&[(
        ".harness/tools/get_one.md",
        &tool_with("timout_ms: 5\n", "def run(args):\n    return 1"),
    )]);
    harness(project.path(), &["validate"]).ends(0);
    let denied = harness(project.path(), &["validate", "--deny-warnings"]).ends(1);
    assert!(
        denied.out.contains("did you mean `timeout_ms`")
            && denied.out.contains("not valid: 1 tool"),
        "{}",
        denied.out
    );
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let project = project();
    assert!(
        harness(project.path(), &["list", "--color", "always"])
            .ends(0)
            .out
            .contains('\u{1b}')
    );
    assert!(
        !harness(project.path(), &["list", "--color", "never"])
            .ends(0)
            .out
            .contains('\u{1b}')
    );
    let json = harness(project.path(), &["list", "--json", "--color", "always"]).ends(0);
    assert!(json.document().is_object());
}

#[test]
fn a_command_that_ends_with_2_still_gives_one_document_where_one_was_asked_for() {
    let empty = tempfile::tempdir().expect("a folder");
    let project = project();
    let stopped = Project::new(&[
        ("harness.md", "---\npolisy: {}\n---\n"),
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
    ]);
    for (folder, words, message) in [
        (
            empty.path(),
            &["call", "x", "--json"][..],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["validate", "--format", "json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["validate", "--format=json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["tools", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["list", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["test", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["inspect", "--json"],
            "no harness project here; run harness init",
        ),
        (
            empty.path(),
            &["explain", "NO_SUCH_CODE", "--json"],
            "no diagnostic or refusal has the code `NO_SUCH_CODE`",
        ),
        (
            project.path(),
            &["call", "--json"],
            "the following required arguments were not provided:",
        ),
        (
            project.path(),
            &["call", "x", "--json", "--no-such"],
            "unexpected argument '--no-such' found",
        ),
        (
            project.path(),
            &["list", "nonsense", "--json"],
            "invalid value 'nonsense' for '[WHAT]'",
        ),
        (
            project.path(),
            &["nonsense", "--json"],
            "unrecognized subcommand 'nonsense'",
        ),
        (
            stopped.path(),
            &["call", "get_one", "--json"],
            "harness.md:2:1: ",
        ),
    ] {
        let ran = harness(folder, words).ends(2);
        let document = ran.document();
        let said = document["error"]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with(message), "{words:?}: {document}");
        assert_eq!(document["error"]["code"], "usage", "{words:?}");
        assert_eq!(
            document.as_object().map(serde_json::Map::len),
            Some(1),
            "{words:?}: {document}"
        );
        assert!(
            ran.err.contains("error"),
            "{words:?}: people are told as well: {}",
            ran.err
        );
    }
    for words in [
        &["call", "x"][..],
        &["call", "x", "--no-such"],
        &["call", "x", "--", "--json"],
    ] {
        assert_eq!(harness(empty.path(), words).ends(2).out, "", "{words:?}");
    }
}

#[test]
fn a_listing_that_leaves_a_broken_tool_out_says_so_to_people() {
    let project = Project::new(&[
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
        (".harness/tools/get_two.md", "---\n"),
    ]);
    for words in [
        &["tools"][..],
        &["tools", "--json"],
        &["tools", "--format", "json"],
    ] {
        let ran = harness(project.path(), words).ends(0);
        assert!(
            ran.out.contains("get_one") && !ran.out.contains("get_two"),
            "{}",
            ran.out
        );
        assert!(
            ran.err.contains("not everything is in use: 1 error"),
            "{words:?}: {}",
            ran.err
        );
    }
}

#[test]
fn ctrl_c_while_a_project_is_loaded_ends_with_4() {
    let slow = "---\nevent: artifact.load\ntimeout_ms: 30000\nscript: |\n  def handle(event, payload):\n      x = [i for i in range(1000000000)]\n      return allow()\n---\nSlow.\n";
    let project = Project::new(&[
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
        (".harness/hooks/slow.md", slow),
    ]);
    for (words, name) in [
        (["validate", "--json"], "INT"),
        (["list", "--json"], "TERM"),
        (["test", "--json"], "INT"),
    ] {
        let child = prepared(project.path(), &words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let started = Instant::now();
        while descendants(child.id()).is_empty() {
            assert!(
                started.elapsed() < Duration::from_secs(10),
                "{words:?} starts no worker"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(200));
        let workers = descendants(child.id());
        let sent = Instant::now();
        signal(child.id(), name);
        let ended = child.wait_with_output().expect("it ends");
        assert!(
            sent.elapsed() < Duration::from_millis(900),
            "{words:?} took {:?}",
            sent.elapsed()
        );
        assert_eq!(ended.status.code(), Some(4), "{words:?}");
        assert_eq!(
            serde_json::from_slice::<Value>(&ended.stdout).expect("one document")["error"]["code"],
            "interrupted"
        );
        assert_eq!(gone(&workers), [0; 0], "{words:?} left processes");
    }
}

#[test]
fn a_project_cannot_give_itself_the_environment() {
    let project = Project::new(&[
        (
            "harness.md",
            "---\nsandbox: { env: [PATH, GAPS_TOKEN] }\n---\n",
        ),
        (
            ".harness/tools/get_token.md",
            &tool("def run(args):\n    return env(\"GAPS_TOKEN\", \"none\")"),
        ),
    ]);
    let ran = prepared(project.path(), &["call", "get_token", "--json"])
        .env("GAPS_TOKEN", "swordfish")
        .output()
        .expect("it runs");
    let out = String::from_utf8(ran.stdout).expect("text");
    assert_eq!(ran.status.code(), Some(1), "{out}");
    assert!(
        out.contains("project.untrusted: the project lists `GAPS_TOKEN`")
            && !out.contains("swordfish"),
        "{out}"
    );
    let inspected = harness(project.path(), &["inspect"]).ends(0).out;
    assert!(
        inspected.contains("PATH, GAPS_TOKEN (not readable: the project is not trusted)"),
        "{inspected}"
    );
}
