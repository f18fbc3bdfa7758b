//! How a server starts and ends.

use super::client::{Client, WITHOUT};
use crate::support::program::{SOON, descendants, gone, harness, prepared, signal, until};
use crate::support::{Project, tool};
use serde_json::json;
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn a_broken_root_an_unknown_mode_or_no_project_stops_the_server_before_a_listing() {
    let check = |project: &Project, words: &[&str], says: &str| {
        let ran = harness(project.path(), words).ends(2);
        assert!(ran.out.is_empty() && ran.err.contains(says), "{ran:?}");
    };
    let broken = Project::script("def run(args):\n  return 1");
    broken.write("harness.md", b"---\nformat: 1\npolicies: {}\n---\n");
    check(&broken, &["mcp"], "harness.md:3:1");
    let sound = Project::script("def run(args):\n  return 1");
    check(&sound, &["mcp", "--mode", "review"], "no mode `review`");
    let nothing = tempfile::tempdir().expect("a folder");
    let ran = harness(nothing.path(), &["mcp"]).ends(2);
    assert!(
        ran.out.is_empty() && ran.err.contains("run harness init"),
        "{ran:?}"
    );
}

#[test]
fn a_broken_tool_is_not_offered_and_the_others_are() {
    let project = Project::script("def run(args):\n  return 1");
    project.write(".harness/tools/broken.md", b"---\nscript: [\n---\n");
    project.write(
        ".harness/tools/odd.md",
        b"---\ntimout_ms: 5\nscript: |\n  def run(args):\n    return 1\n---\nOdd.\n",
    );
    let mut client = Client::speaking(project.path(), WITHOUT);
    assert_eq!(client.tools(), ["odd", "t"]);
    let called = client.result("broken", json!({}));
    assert_eq!(
        called["_meta"]["harness/error"]["code"], "tool.not_advertised",
        "{called}"
    );
    client.wait_for_log("error[YAML_INVALID]");
    client.wait_for_log("warning[KEY_UNKNOWN]");
}

#[test]
fn a_client_that_hangs_up_gets_calls_that_finish_soon_and_cancels_the_rest() {
    let project = Project::new(&[
        (
            ".harness/tools/soon.md",
            &tool("def run(args):\n  sleep(0.1)\n  return 1"),
        ),
        (
            ".harness/tools/never.md",
            &tool("def run(args):\n  sleep(600)\n  return 1"),
        ),
    ]);
    let mut client = Client::speaking(project.path(), WITHOUT);
    let listening = client.request(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    client.notification("notifications/subscriptions/acknowledged");
    // So that a worker runs when the client hangs up.
    client.result("soon", json!({}));
    let soon = client.call("soon", json!({}));
    let never = client.call("never", json!({}));
    let started = Instant::now();
    client.hang_up();
    assert_eq!(client.answer(soon)["result"]["isError"], false);
    assert_eq!(
        client.answer(never)["result"]["_meta"]["harness/error"]["code"],
        "tool.cancelled"
    );
    assert!(client.answer(listening).get("result").is_some());
    assert_eq!(client.code(), Some(0));
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
}

#[test]
fn a_signal_ends_the_server_with_its_calls_and_workers_at_once() {
    let project = Project::script("def run(args):\n  for i in range(1000000000):\n    pass");
    for name in ["TERM", "INT"] {
        let mut client = Client::speaking(project.path(), "2025-11-25");
        client.call("t", json!({}));
        until("a worker", || !descendants(client.child.id()).is_empty());
        std::thread::sleep(Duration::from_millis(100));
        let workers = descendants(client.child.id());
        let started = Instant::now();
        signal(client.child.id(), name);
        assert_eq!(client.code(), Some(0), "{name}");
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?}",
            started.elapsed()
        );
        assert!(!workers.is_empty() && gone(&workers).is_empty(), "{name}");
    }
}

#[test]
fn a_client_that_closes_its_reading_end_stops_the_server() {
    let project = Project::script("def run(args):\n  return 1");
    let mut command = prepared(project.path(), &["mcp"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server");
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("input");
    let started = Instant::now();
    while child.try_wait().expect("a status").is_none() && started.elapsed() < SOON {
        // Once the server is gone, this write fails.
        let _ =
            input.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nno message\n");
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = child.try_wait().expect("a status");
    let _ = child.kill();
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}
