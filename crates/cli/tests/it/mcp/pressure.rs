//! A client that sends more than it reads, or than can run, costs a bounded amount of memory, and
//! every request still gets its one answer.

use super::client::{Client, WITH_HANDSHAKE};
use crate::support::Project;
use crate::support::program::{prepared, processor_time};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The most memory that a process has used so far.
fn peak_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("its memory") << 10
}

/// Waits until a process has nothing more to do.
fn until_idle(pid: u32) {
    let until = Instant::now() + Duration::from_secs(240);
    let mut last = processor_time(pid);
    loop {
        std::thread::sleep(Duration::from_millis(1500));
        let now = processor_time(pid);
        if now - last < Duration::from_millis(30) {
            return;
        }
        last = now;
        assert!(Instant::now() < until, "it never rests");
    }
}

#[test]
fn forty_thousand_calls_that_nobody_reads_take_little_memory_and_each_is_answered_once() {
    const CALLS: u64 = 40_000;
    let project = Project::script("def run(args):\n  return 1");
    let mut child = prepared(project.path(), &["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server");
    let mut input = child.stdin.take().expect("input");
    let mut output = BufReader::new(child.stdout.take().expect("output"));
    let mut line = String::new();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": WITH_HANDSHAKE[3], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    writeln!(input, "{hello}").expect("written");
    output.read_line(&mut line).expect("an answer");
    let before = peak_bytes(child.id());
    let writer = std::thread::spawn(move || {
        for id in 1..=CALLS {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t", "arguments": {}}});
            writeln!(input, "{call}").expect("written");
        }
        input
    });
    until_idle(child.id());
    let more = peak_bytes(child.id()).saturating_sub(before);
    assert!(
        more < 150 << 20,
        "{} MiB for calls that nobody reads",
        more >> 20
    );
    let mut answered = HashSet::new();
    while (answered.len() as u64) < CALLS {
        line.clear();
        assert!(
            output.read_line(&mut line).expect("a line") > 0,
            "only {} answers",
            answered.len()
        );
        let answer: Value = serde_json::from_str(&line).expect("a message");
        let id = answer["id"].as_u64().expect("an id");
        assert!((1..=CALLS).contains(&id) && answered.insert(id), "{answer}");
    }
    let more = peak_bytes(child.id()).saturating_sub(before);
    assert!(more < 150 << 20, "{} MiB in the end", more >> 20);
    // Nothing comes after the last answer.
    drop(writer.join().expect("the writer"));
    line.clear();
    assert_eq!(output.read_line(&mut line).expect("the end"), 0, "{line}");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn pings_and_cancellations_pass_requests_that_wait() {
    let project = Project::new(&[
        (
            ".harness/tools/never.md",
            &crate::support::tool("def run(args):\n  sleep(600)\n  return 1"),
        ),
        (
            ".harness/tools/soon.md",
            &crate::support::tool("def run(args):\n  return 1"),
        ),
    ]);
    let mut client = Client::speaking(project.path(), WITH_HANDSHAKE[3]);
    // More than are served at once.
    let mut ids: Vec<i64> = (0..700).map(|_| client.call("never", json!({}))).collect();
    let answer = client.ask("ping", json!({}));
    assert_eq!(answer["result"], json!({}), "{answer}");
    let waiting = client.call("soon", json!({}));
    // The last of those that wait first, so that none of them is started meanwhile.
    ids.reverse();
    for id in &ids {
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    }
    let answer = client.answer(waiting);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(
        client.rest(),
        Vec::<Value>::new(),
        "a cancelled call was answered"
    );
    // Their ids are free again.
    client.send(&json!({"jsonrpc": "2.0", "id": ids[0], "method": "ping"}));
    let answer = client.answer(ids[0]);
    assert_eq!(answer["result"], json!({}), "{answer}");
}
