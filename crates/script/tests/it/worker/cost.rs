//! The cost of a worker. Printed for people; only gross regressions fail.

use super::supervisor::{BUDGET, Worker};
use serde_json::{Value, json};
use std::fs;
use std::time::{Duration, Instant};
use tool_harness::facts::ScriptKind;

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

fn timed(mut work: impl FnMut()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

#[test]
fn a_worker_is_cheap() {
    let spawn = median((0..20).map(|_| timed(|| drop(Worker::start()))).collect());
    let mut worker = Worker::start();
    worker.load(1, ScriptKind::Tool, "def run(args):\n  return args\n", &[]);
    let first = timed(|| drop(worker.run(1, Value::Null, BUDGET)));
    let mut trips = |args: Value| {
        median(
            (0..500)
                .map(|_| timed(|| drop(worker.run(1, args.clone(), BUDGET))))
                .collect(),
        )
    };
    let empty = trips(Value::Null);
    let small = trips(json!({"path": "a/b", "count": 3, "flags": [true, false]}));
    let large = trips(json!(
        (0..100)
            .map(|index| json!({"id": index, "name": "some name", "tags": ["a", "b"]}))
            .collect::<Vec<_>>()
    ));
    let status =
        fs::read_to_string(format!("/proc/{}/status", worker.process.id())).expect("reads");
    let memory = status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("RssAnon"));
    let memory: Vec<String> = memory
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    println!(
        "  spawn to ready (and reaped) {spawn:?}; first run {first:?}; round trip empty {empty:?}, small {small:?}, 100 objects {large:?}; {memory:?}"
    );
    assert!(spawn < Duration::from_millis(500) && empty < Duration::from_millis(5));
}
