//! Scripts that go wrong end in an error within their limits, and the engine keeps serving.

use crate::support::alone::alone;
use crate::support::{Project, call, code, tool_with};
use serde_json::json;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tool_harness::{Arguments, Call};

/// Resident memory of this process, in KiB.
fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = text
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("VmRSS");
    line.split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok())
        .expect("a number")
}

const FAULTS: &[(&str, &str, &[&str])] = &[
    (
        "huge_list",
        "def run(args):\n    return len([0] * 1000000000)",
        &["script.memory_limit"],
    ),
    (
        "huge_sort",
        "def run(args):\n    return len(sorted(range(300000000)))",
        &["script.memory_limit", "script.step_limit", "tool.timeout"],
    ),
    (
        "huge_replace",
        "def run(args):\n    a = \"a\" * 1000000\n    b = a.replace(\"a\", a)\n    return len(b.replace(\"a\", b))",
        &["script.memory_limit"],
    ),
    (
        "squarings",
        "def run(args):\n    x = 3\n    for i in range(60):\n        x = x * x\n    return str(x)[:10]",
        &["tool.timeout", "script.step_limit", "script.memory_limit"],
    ),
    (
        "deep_result",
        "def run(args):\n    x = []\n    for i in range(100000):\n        x = [x]\n    return x",
        &["script.result"],
    ),
    (
        "deep_text",
        "def run(args):\n    x = []\n    for i in range(100000):\n        x = [x]\n    return str(x)",
        &[
            "script.crashed",
            "script.result",
            "tool.failed",
            "script.memory_limit",
        ],
    ),
    (
        "long_loop",
        "def run(args):\n    n = 0\n    for i in range(1000000000):\n        n += 1\n    return n",
        &["tool.timeout", "script.step_limit"],
    ),
    (
        "huge_result",
        "def run(args):\n    return \"a\" * 200000000",
        &["script.result", "script.memory_limit"],
    ),
    (
        "recursion",
        "def f(g, n):\n    if n > 1000:\n        return n\n    return g(g, n + 1)\ndef run(args):\n    return f(f, 0)",
        &["script.recursion"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_ends_in_its_error_within_its_limit_and_the_engine_keeps_serving() {
    if !alone("faults::every_fault_ends_in_its_error_within_its_limit_and_the_engine_keeps_serving")
    {
        return;
    }
    let mut files: Vec<(String, String)> = FAULTS
        .iter()
        .map(|(name, script, codes)| {
            // Only faults that end at their deadline get a short one.
            let limits = if codes.contains(&"tool.timeout") {
                "timeout_ms: 1500\nlimits: {memory_mb: 128, cpu_ms: 1000}\n"
            } else {
                "timeout_ms: 10000\nlimits: {memory_mb: 128, cpu_ms: 10000}\n"
            };
            (
                format!(".harness/tools/run_{name}.md"),
                tool_with(limits, script),
            )
        })
        .collect();
    files.push((
        ".harness/tools/run_echo.md".into(),
        crate::support::tool("def run(args):\n    return args"),
    ));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let project = Project::new(&files);
    let engine = project.engine().await;
    let echo = || call("run_echo", json!({"a": 1})).session("s");
    for _ in 0..20 {
        assert!(!engine.call(echo()).await.is_error);
    }
    let (mut before, mut quickest) = (0, HashMap::new());
    for (round, (name, _, codes)) in [FAULTS, FAULTS].into_iter().flatten().enumerate() {
        if round == FAULTS.len() {
            // The first round allocates threads and buffers that stay.
            before = resident_kb();
        }
        let started = Instant::now();
        let result = engine
            .call(call(&format!("run_{name}"), json!({})).session("s"))
            .await;
        assert!(
            result.is_error,
            "{name} gave a result: {:.200}",
            result.text()
        );
        assert!(
            codes.contains(&code(&result)),
            "{name} ended as {}: {:?}",
            code(&result),
            result.error
        );
        // The deadline, plus slack for a busy machine.
        let took = started.elapsed();
        assert!(took < Duration::from_secs(15), "{name} took {took:?}");
        let quickest = quickest.entry(name).or_insert(took);
        *quickest = took.min(*quickest);
        for _ in 0..if round < FAULTS.len() { 10 } else { 100 } {
            let result = engine.call(echo()).await;
            assert!(!result.is_error, "after {name}: {:?}", result.error);
        }
    }
    // A call with a deadline of 1,500 ms is answered soon after it.
    for (name, _, codes) in FAULTS {
        let (took, limit) = (quickest[name], Duration::from_millis(1500 + 60 + 900));
        let is_short = codes.contains(&"tool.timeout");
        assert!(!is_short || took < limit, "{name} took {took:?}");
    }
    let after = resident_kb();
    assert!(
        after < before + 16 * 1024,
        "memory grew from {before} to {after} KiB"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_with_ten_thousand_parentheses_is_a_diagnostic_and_the_rest_loads() {
    let deep = format!(
        "def run(args):\n    return {}1{}",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    let project = Project::new(&[
        (".harness/tools/run_deep.md", &crate::support::tool(&deep)),
        (
            ".harness/tools/run_echo.md",
            &crate::support::tool("def run(args):\n    return 1"),
        ),
    ]);
    let engine = project.engine().await;
    let codes: Vec<_> = engine
        .diagnostics()
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect();
    assert_eq!(codes, ["SCRIPT_SYNTAX"]);
    assert_eq!(
        code(&engine.call(call("run_deep", json!({}))).await),
        "tool.not_advertised"
    );
    assert!(!engine.call(call("run_echo", json!({}))).await.is_error);
}

#[tokio::test(flavor = "multi_thread")]
async fn unrepresentable_arguments_are_refused_and_unusual_ones_arrive_exactly() {
    let project = Project::script("def run(args):\n    return args");
    let engine = project.engine().await;
    let send = |text: String| engine.call(Call::new("t", Arguments::Text(text)).session("s"));
    let digits = "9".repeat(400);
    for (text, expected) in [
        (r#"{"a": 1e400}"#.to_owned(), "tool.args.malformed_json"),
        (
            format!(r#"{{"a": {}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000)),
            "tool.args.malformed_json",
        ),
        (
            format!(r#"{{"a": {}1{}}}"#, "[".repeat(100), "]".repeat(100)),
            "tool.args.malformed_json",
        ),
        (r#"{"a": "\ud800"}"#.to_owned(), "tool.args.malformed_json"),
        ("{broken".to_owned(), "tool.args.malformed_json"),
        (String::new(), "tool.args.malformed_json"),
        ("[]".to_owned(), "tool.args.malformed_json"),
        ("null".to_owned(), "tool.args.malformed_json"),
    ] {
        let result = send(text.clone()).await;
        assert_eq!(code(&result), expected, "{}", &text[..text.len().min(60)]);
    }
    let exact = format!(r#"{{"b":{digits},"a":[-0.5,1.0,"é\u0000",null,true,{{}}]}}"#);
    let result = send(exact.clone()).await;
    assert_eq!(result.value.expect("a value").to_string(), exact);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_at_once_and_a_timeout_counts_from_the_start() {
    let project = Project::script("def run(args):\n    sleep(30)\n    return 1");
    let engine = project.engine().await;
    // A loaded machine may delay any one attempt, but not all of them.
    let (mut to_cancel, mut to_time_out) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let slow = call("t", json!({}));
        let cancel = slow.cancel.clone();
        let task = tokio::spawn({
            let engine = engine.clone();
            async move { engine.call(slow).await }
        });
        tokio::time::sleep(Duration::from_millis(300)).await;
        let cancelled = Instant::now();
        cancel.cancel();
        let result = task.await.expect("joins");
        to_cancel.push(cancelled.elapsed());
        assert_eq!(code(&result), "tool.cancelled");
        let mut short = call("t", json!({}));
        short.timeout = Some(Duration::from_millis(200));
        let started = Instant::now();
        let result = engine.call(short).await;
        to_time_out.push(started.elapsed());
        assert_eq!(code(&result), "tool.timeout");
    }
    let quickest = |times: &[Duration]| times.iter().min().copied().unwrap_or_default();
    assert!(
        quickest(&to_cancel) < Duration::from_millis(250),
        "{to_cancel:?}"
    );
    assert!(
        quickest(&to_time_out) < Duration::from_millis(900),
        "{to_time_out:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_runs_with_the_minimum_memory_and_less_is_a_diagnostic() {
    let script = "def run(args):\n    return len(\"a\" * args[\"n\"])";
    let text = |memory: u64| {
        tool_with(
            &format!(
                "limits: {{ memory_mb: {memory} }}\nparameters: {{ n: {{ type: integer }} }}\n"
            ),
            script,
        )
    };
    let project = Project::new(&[
        (".harness/tools/get_some.md", &text(8)),
        (".harness/tools/get_less.md", &text(7)),
    ]);
    let engine = project.engine().await;
    assert_eq!(
        engine
            .call(call("get_some", json!({"n": 1000})))
            .await
            .value,
        Some(json!(1000))
    );
    assert_eq!(
        code(
            &engine
                .call(call("get_some", json!({"n": 100_000_000})))
                .await
        ),
        "script.memory_limit"
    );
    let refused = engine.call(call("get_less", json!({"n": 1}))).await;
    assert_eq!(code(&refused), "tool.not_advertised");
    assert!(
        refused.text().contains("an integer of at least 8"),
        "{}",
        refused.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_without_a_worker_blames_the_worker_and_not_the_script() {
    let project = Project::new(&[(
        ".harness/tools/get_t.md",
        &tool_with("", "def run(args):\n    return 1"),
    )]);
    let missing = tool_harness_sandbox::process::WorkerProgram {
        path: "/nowhere/harness".into(),
        argument: "worker",
    };
    let engine = project
        .builder()
        .worker(missing)
        .load()
        .await
        .expect("loads");
    assert_eq!(
        engine
            .diagnostics()
            .iter()
            .map(|found| found.code)
            .collect::<Vec<_>>(),
        ["SCRIPT_UNREAD"]
    );
    let refused = engine.call(call("get_t", json!({}))).await;
    let error = refused.error.expect("an error");
    assert_eq!(
        (error.code.text(), error.code.class().to_string().as_str()),
        ("sandbox.unavailable", "retryable"),
        "{}",
        error.message
    );
    // This test program never registered itself as a worker.
    let engine = tool_harness::engine::EngineBuilder::new(project.path())
        .load()
        .await
        .expect("loads");
    let refused = engine.call(call("get_t", json!({}))).await;
    assert_eq!(code(&refused), "script.no_worker", "{}", refused.text());
}
