//! Many calls at once: none lost, none duplicated, no worker left busy, no deadlock.

use crate::support::{Project, call, hook, tool};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn two_scripts_blocked_in_hooked_builtins_finish_with_only_two_workers() {
    let files = [
        (
            ".harness/tools/run_wait.md",
            tool(
                "def run(args):\n    sleep(0.3)\n    fs.write(args[\"path\"], \"x\")\n    return fs.exists(args[\"path\"])",
            ),
        ),
        (
            ".harness/hooks/watch.md",
            hook(
                "builtin.pre",
                "def handle(event, payload):\n    cache.set(\"k\", 1)\n    return allow()",
            ),
        ),
        (
            ".harness/hooks/watch_after.md",
            hook(
                "builtin.post",
                "def handle(event, payload):\n    return allow()",
            ),
        ),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let project = Project::new(&files);
    let engine = project.builder().places(2).load().await.expect("loads");
    let both = async {
        tokio::join!(
            engine.call(call("run_wait", json!({"path": "a"})).session("s")),
            engine.call(call("run_wait", json!({"path": "b"})).session("s")),
            engine.call(call("run_wait", json!({"path": "c"})).session("s")),
        )
    };
    let (a, b, c) = tokio::time::timeout(Duration::from_secs(20), both)
        .await
        .expect("the calls do not deadlock");
    for result in [a, b, c] {
        assert_eq!(result.value, Some(json!(true)), "{:?}", result.error);
    }
    assert_eq!(engine.workers().0, 0, "no worker is left busy");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_concurrent_calls_each_end_once() {
    const CALLS: usize = 10_000;
    let project = Project::script(
        "def run(args):\n    return {\"n\": args[\"n\"], \"count\": state.increment(\"count\")}",
    );
    let engine = project.engine().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..CALLS {
        let engine = engine.clone();
        tasks.spawn(async move {
            (
                n,
                engine.call(call("t", json!({"n": n})).session("s")).await,
            )
        });
    }
    let mut counts = HashSet::new();
    while let Some(joined) = tasks.join_next().await {
        let (n, result) = joined.expect("joins");
        let value = result
            .value
            .unwrap_or_else(|| panic!("{n}: {:?}", result.error));
        assert_eq!(value["n"], json!(n));
        assert!(
            counts.insert(value["count"].as_u64().expect("a count")),
            "a lost update"
        );
    }
    assert_eq!(counts.len(), CALLS);
    assert_eq!(counts.iter().max(), Some(&(CALLS as u64)));
    one_end_each(&project, CALLS);
    assert_eq!(engine.workers().0, 0, "no worker is left busy");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_half_the_calls_leaves_no_worker_busy_and_each_call_ends_once() {
    const CALLS: usize = 400;
    let project = Project::script("def run(args):\n    sleep(0.01)\n    return args[\"n\"]");
    let engine = project.engine().await;
    let mut tasks = tokio::task::JoinSet::new();
    let mut cancels = Vec::new();
    for n in 0..CALLS {
        let engine = engine.clone();
        let call = call("t", json!({"n": n})).session("s");
        if n % 2 == 0 {
            cancels.push(call.cancel.clone());
        }
        tasks.spawn(async move { (n, engine.call(call).await) });
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    cancels.iter().for_each(|cancel| cancel.cancel());
    let mut cancelled = 0;
    while let Some(joined) = tasks.join_next().await {
        let (n, result) = joined.expect("joins");
        match crate::support::code(&result) {
            "none" => assert_eq!(result.value, Some(json!(n))),
            "tool.cancelled" if n % 2 == 0 => cancelled += 1,
            other => panic!("{n} ended as {other}: {:?}", result.error),
        }
    }
    assert!(
        cancelled > CALLS / 4,
        "most of the cancelled half had not run yet: {cancelled}"
    );
    one_end_each(&project, CALLS);
    assert_eq!(engine.workers().0, 0, "no worker is left busy");
    assert_eq!(
        engine
            .call(call("t", json!({"n": 1})).session("s"))
            .await
            .value,
        Some(json!(1))
    );
}

fn one_end_each(project: &Project, calls: usize) {
    let mut ends: HashMap<String, usize> = HashMap::new();
    let mut started = HashSet::new();
    for event in project.events.all() {
        let id = event.call_id.clone().expect("a call");
        match event.name() {
            "tool.started" => assert!(started.insert(id), "started twice"),
            "tool.completed" | "tool.failed" | "tool.rejected" => *ends.entry(id).or_default() += 1,
            _ => {}
        }
    }
    assert_eq!(started.len(), calls);
    assert_eq!(ends.len(), calls);
    assert!(ends.values().all(|count| *count == 1), "a call ended twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_limited_to_two_concurrent_calls_never_runs_three() {
    let script = "def run(args):\n    now = state.increment(\"now\")\n    sleep(0.05)\n    state.increment(\"now\", -1)\n    return now";
    let text = crate::support::tool_with("limits: {max_concurrency: 2}\n", script);
    let project = Project::new(&[(".harness/tools/t.md", &text)]);
    let engine = project.builder().places(8).load().await.expect("loads");
    let mut set = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let engine = engine.clone();
        set.spawn(async move { engine.call(call("t", json!({})).session("s")).await });
    }
    while let Some(joined) = set.join_next().await {
        let result = joined.expect("joins");
        let now = result
            .value
            .as_ref()
            .and_then(serde_json::Value::as_u64)
            .unwrap_or_else(|| panic!("{:?}", result.error));
        assert!(now <= 2, "{now} at once");
    }
}
