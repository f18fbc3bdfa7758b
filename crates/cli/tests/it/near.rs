//! A lone call shares a core with its worker, and leaves no thread and no worker pinned to it.

use crate::support::alone::alone;
use crate::support::{Project, call, hook, tool};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The cores each thread of a process may run on.
fn cores(pid: impl AsRef<Path>) -> Vec<String> {
    let threads = fs::read_dir(Path::new("/proc").join(pid).join("task"))
        .into_iter()
        .flatten()
        .flatten();
    let status = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    status
        .filter_map(|text| {
            Some(
                text.lines()
                    .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?
                    .trim()
                    .to_owned(),
            )
        })
        .collect()
}

/// The child processes of this process.
fn children() -> Vec<PathBuf> {
    let own = format!("PPid:\t{}", std::process::id());
    let processes = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    processes
        .filter(|path| {
            fs::read_to_string(path.join("status"))
                .is_ok_and(|text| text.lines().any(|line| line == own))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_call_leaves_no_thread_or_worker_pinned_to_a_core() {
    if !alone("near::a_lone_call_leaves_no_thread_or_worker_pinned_to_a_core") {
        return;
    }
    let free = cores("self").first().cloned().expect("this thread");
    if !free.contains(['-', ',']) {
        println!(
            "skipped: a lone call and its worker on one core: this process may use one core only"
        );
        return;
    }
    let files = [
        (
            ".harness/tools/t.md",
            tool("def run(args):\n    return cache.get(\"x\")"),
        ),
        (
            ".harness/tools/slow.md",
            tool(
                "def run(args):\n    n = 0\n    for i in range(args[\"n\"]):\n        n += i\n    return n",
            ),
        ),
        (
            ".harness/hooks/watch.md",
            hook(
                "tool.pre",
                "def handle(event, payload):\n    return allow()",
            ),
        ),
    ];
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let engine = Project::new(&files).engine().await;
    for _ in 0..50 {
        let result = engine.call(call("t", json!({})).session("s")).await;
        assert!(result.error.is_none(), "{:?}", result.error);
    }
    assert!(
        cores("self").iter().all(|of| *of == free),
        "a thread of the caller stayed behind: {:?}",
        cores("self")
    );
    let near = children()
        .iter()
        .flat_map(cores)
        .filter(|of| *of != free)
        .count();
    assert!(near >= 1, "no worker was ever pinned");

    // The worker of a longer script is unpinned, and the caller's thread is free meanwhile.
    let slow = tokio::spawn({
        let engine = engine.clone();
        async move {
            engine
                .call(call("slow", json!({"n": 30_000_000})).session("slow"))
                .await
        }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        cores("self").iter().all(|of| *of == free),
        "{:?}",
        cores("self")
    );
    let busiest = children()
        .into_iter()
        .max_by_key(|path| processor_time(path))
        .expect("a worker");
    assert!(
        cores(&busiest).iter().all(|of| *of == free),
        "the busy worker is tied to a core: {:?}",
        cores(&busiest)
    );
    drop(slow.await.expect("ends"));

    // Concurrent calls may run on any core.
    let mut many = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let engine = engine.clone();
        many.spawn(async move {
            engine
                .call(call("slow", json!({"n": 300_000})).session("s"))
                .await
        });
    }
    for result in many.join_all().await {
        assert!(result.error.is_none(), "{:?}", result.error);
    }
    assert!(
        cores("self").iter().all(|of| *of == free),
        "{:?}",
        cores("self")
    );
}

fn processor_time(process: &Path) -> u64 {
    let text = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    fields
        .split_whitespace()
        .nth(11)
        .and_then(|ticks| ticks.parse().ok())
        .unwrap_or_default()
}
