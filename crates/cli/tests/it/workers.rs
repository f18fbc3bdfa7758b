//! When workers start and end: none starts as long as those that live are enough.

use crate::support::program::write_program;
use crate::support::{Project, call, tool, worker};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tool_harness::engine::Engine;
use tool_harness_sandbox::process::WorkerProgram;

/// Two places, the requests that may be under way with them, and the workers that may live.
const PLACES: usize = 2;
const SLOTS: usize = 8;
const LIVES: usize = 12;

/// How many idle workers are kept for good, and for how long the others when nothing happens.
const SPARE: usize = 4;
const QUIET_TIME: Duration = Duration::from_secs(10);

/// Returns when `wanted` calls with the same `key` are in it together.
const MEET: &str = "\
def run(args):
    state.increment(args[\"key\"])
    for i in range(6000):
        if state.get(args[\"key\"]) >= args[\"wanted\"]:
            return args[\"n\"]
        sleep(0.01)
    fail(\"nobody came\")";

/// One call of a built-in that answers at once, and one of a built-in that another thread serves.
const ASK: &str = "\
def run(args):
    cache.get(\"x\")
    fs.exists(\"x\")
    return args[\"n\"]";

/// A project whose workers are counted as they start.
struct Counted {
    project: Project,
    outside: TempDir,
}

impl Counted {
    fn new(tools: &[(&str, &str)]) -> Self {
        let project = Project::new(&[]);
        for (name, script) in tools {
            project.write(
                &format!(".harness/tools/{name}.md"),
                tool(script).as_bytes(),
            );
        }
        let outside = tempfile::tempdir().expect("a folder");
        let script = format!(
            "#!/bin/sh\necho $$ >> {}\nexec {} \"$@\"\n",
            outside.path().join("started").display(),
            worker().path.display()
        );
        write_program(&outside.path().join("worker"), &script);
        Self { project, outside }
    }

    async fn engine(&self, places: usize) -> Engine {
        let program = WorkerProgram {
            path: self.outside.path().join("worker"),
            ..worker()
        };
        let builder = self.project.builder().worker(program).places(places);
        builder.load().await.expect("loads")
    }

    /// How many workers have started so far.
    fn started(&self) -> usize {
        let log = std::fs::read_to_string(self.outside.path().join("started"));
        log.unwrap_or_default().lines().count()
    }
}

/// Makes calls of one session, `in_flight` at a time, and checks their answers.
async fn calls(engine: &Engine, tool: &str, in_flight: usize, arguments: Vec<Value>) {
    let mut running = JoinSet::new();
    let mut waiting = arguments.into_iter();
    loop {
        while running.len() < in_flight
            && let Some(arguments) = waiting.next()
        {
            let (engine, n) = (engine.clone(), arguments["n"].clone());
            let call = call(tool, arguments).session("s");
            running.spawn(async move { (n, engine.call(call).await) });
        }
        let Some(ended) = running.join_next().await else {
            return;
        };
        let (n, result) = ended.expect("joins");
        assert_eq!(result.value, Some(n), "{:?}", result.error);
    }
}

fn numbered(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!({ "n": n })).collect()
}

/// Makes as many calls as may be under way, none of which ends before all have begun.
async fn all_at_once(engine: &Engine, key: &str) {
    let one = |n: usize| json!({"n": n, "key": key, "wanted": SLOTS});
    calls(engine, "meet", SLOTS, (0..SLOTS).map(one).collect()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_worker_starts_while_more_calls_wait_than_there_are_places() {
    let counted = Counted::new(&[("meet", MEET), ("ask", ASK)]);
    let engine = counted.engine(PLACES).await;
    for round in 0.. {
        let since = Instant::now();
        all_at_once(&engine, &format!("before {round}")).await;
        let before = counted.started();
        calls(&engine, "ask", 32, numbered(160)).await;
        all_at_once(&engine, &format!("after {round}")).await;
        let after = counted.started();
        // On a machine that is too slow, some were idle for so long that they were ended.
        if since.elapsed() < QUIET_TIME {
            assert_eq!(after - before, 0, "workers started");
            break;
        }
    }
    assert_eq!(engine.workers().0, 0, "no worker is left busy");
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_whose_builtins_answer_at_once_need_no_more_workers_than_places() {
    let script = "def run(args):\n    for i in range(5):\n        cache.set(str(i), cache.get(\"x\"))\n    return args[\"n\"]";
    let counted = Counted::new(&[("t", script)]);
    let engine = counted.engine(PLACES).await;
    let before = counted.started();
    calls(&engine, "t", 32, numbered(160)).await;
    let started = counted.started() - before;
    assert!((1..=PLACES).contains(&started), "{started} workers started");
}

/// On one thread, so that the calls come in a known order.
#[tokio::test]
async fn calls_that_wait_for_a_worker_run_in_the_order_in_which_they_came() {
    const CALLS: usize = 128;
    let script =
        "def run(args):\n    state.append(\"order\", args[\"n\"])\n    return state.get(\"order\")";
    let engine = Project::script(script).builder().places(1).load().await;
    let engine = engine.expect("loads");
    let mut running = JoinSet::new();
    for n in 0..CALLS {
        let engine = engine.clone();
        running.spawn(async move { engine.call(call("t", json!({ "n": n })).session("s")).await });
    }
    let mut longest = Vec::new();
    while let Some(ended) = running.join_next().await {
        let result = ended.expect("joins");
        let order = result.value.as_ref().and_then(Value::as_array);
        let order = order.unwrap_or_else(|| panic!("{:?}", result.error));
        if order.len() > longest.len() {
            longest.clone_from(order);
        }
    }
    let expected: Vec<Value> = (0..CALLS).map(|n| json!(n)).collect();
    assert_eq!(longest, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_that_are_no_longer_needed_end_after_a_while_and_some_stay() {
    let counted = Counted::new(&[("meet", MEET), ("ask", ASK)]);
    let engine = counted.engine(PLACES).await;
    let of_checks = engine.workers().1;
    all_at_once(&engine, "once").await;
    let since = Instant::now();
    let tools = || engine.workers().1 - of_checks;
    while tools() > SPARE {
        assert!(since.elapsed() < QUIET_TIME * 6, "{} are kept", tools());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(since.elapsed() > QUIET_TIME / 2, "ended at once");
    let before = counted.started();
    calls(&engine, "ask", 1, numbered(4)).await;
    assert_eq!(counted.started(), before, "what stays is used");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_that_was_idle_longest_makes_room_for_another_session() {
    let script = "def run(args):\n    return cache.get(\"x\")";
    for round in 0.. {
        let counted = Counted::new(&[("t", script)]);
        let engine = counted.engine(PLACES).await;
        let of_checks = engine.workers().1;
        let since = Instant::now();
        let mut started = Vec::new();
        let sessions = (0..=LIVES).chain((1..=LIVES).rev()).chain([0]);
        for session in sessions {
            let before = counted.started();
            let call = call("t", json!({})).session(format!("s{session}"));
            let result = engine.call(call).await;
            assert!(result.error.is_none(), "{:?}", result.error);
            started.push(counted.started() - before);
            assert!(engine.workers().1 - of_checks <= LIVES, "too many live");
        }
        // On a machine that is too slow, some were ended for their age.
        if since.elapsed() < QUIET_TIME {
            let expected = [vec![1; LIVES + 1], vec![0; LIVES], vec![1]].concat();
            assert_eq!(started, expected, "in round {round}");
            return;
        }
    }
}
