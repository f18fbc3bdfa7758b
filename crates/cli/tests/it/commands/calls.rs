//! `harness call`: arguments, output, time limits, Ctrl-C.

use super::project;
use crate::support::program::{
    descendants, gone, harness, harness_reading, prepared, signal, until,
};
use crate::support::{Project, hook_with, tool, tool_with};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn arguments_are_read_from_pairs_json_and_standard_input() {
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

/// How soon an interrupted program ends. A loaded machine may delay one attempt, but not all.
const SOON: Duration = Duration::from_millis(900);

/// Starts a call that takes a minute, sends a signal once it runs, checks how it ends, and returns how
/// long that took.
fn interrupted(project: &Project, words: &[&str], name: &str) -> Duration {
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
    until("a worker", || !descendants(child.id()).is_empty());
    std::thread::sleep(Duration::from_millis(150));
    let workers = descendants(child.id());
    let sent = Instant::now();
    signal(child.id(), name);
    let status = child.wait().expect("it ends");
    let took = sent.elapsed();
    assert_eq!(status.code(), Some(4), "{words:?} {name}");
    // Without the signal those calls would run for half a minute or more.
    assert!(
        took < Duration::from_secs(10),
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
    took
}

#[test]
fn ctrl_c_during_a_call_ends_it_quickly_and_leaves_no_process() {
    let project = project();
    for (tool, name) in [
        ("wait_long", "INT"),
        ("loop_long", "INT"),
        ("wait_long", "TERM"),
    ] {
        let words = ["call", tool, "--events", "--json"];
        let is_soon = (0..3).any(|_| interrupted(&project, &words, name) < SOON);
        assert!(is_soon, "{tool} {name}");
    }
}

#[test]
fn ctrl_c_during_a_hook_cancels_the_call_and_does_not_blame_the_hook() {
    let slow = "---\nevent: tool.pre\ntimeout_ms: 30000\nscript: |\n  def handle(event, payload):\n      x = [i for i in range(1000000000)]\n      return allow()\n---\nSlow.\n";
    let project = Project::new(&[
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
        (".harness/hooks/slow.md", slow),
    ]);
    let words = ["call", "get_one", "--events", "--json"];
    assert!((0..3).any(|_| interrupted(&project, &words, "INT") < SOON));
}

#[test]
fn a_timeout_fires_in_time_and_names_the_limit_that_applied() {
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
            started.elapsed() < Duration::from_secs(20),
            "{words:?} took {:?}",
            started.elapsed()
        );
    }
}

#[test]
fn the_deadline_of_a_call_covers_its_hooks() {
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
            .contains("got no decision from its hooks within 200 ms, the limit of this call"),
        "{}",
        ran.err
    );
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn a_reader_that_closes_the_pipe_is_not_a_failure() {
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
fn ctrl_c_while_a_project_loads_exits_with_4() {
    let slow = "---\nevent: artifact.load\ntimeout_ms: 30000\nscript: |\n  def handle(event, payload):\n      x = [i for i in range(1000000000)]\n      return allow()\n---\nSlow.\n";
    let project = Project::new(&[
        (
            ".harness/tools/get_one.md",
            &tool("def run(args):\n    return 1"),
        ),
        (".harness/hooks/slow.md", slow),
    ]);
    let mut took = Vec::new();
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
        until("a worker", || !descendants(child.id()).is_empty());
        std::thread::sleep(Duration::from_millis(200));
        let workers = descendants(child.id());
        let sent = Instant::now();
        signal(child.id(), name);
        let ended = child.wait_with_output().expect("it ends");
        took.push(sent.elapsed());
        assert_eq!(ended.status.code(), Some(4), "{words:?}");
        assert_eq!(
            serde_json::from_slice::<Value>(&ended.stdout).expect("one document")["error"]["code"],
            "interrupted"
        );
        assert_eq!(gone(&workers), [0; 0], "{words:?} left processes");
    }
    assert!(took.iter().any(|one| *one < SOON), "{took:?}");
}
