//! Scripts that go wrong end in an error within their limits, and the engine serves on.

mod support;

use serde_json::json;
use std::time::{Duration, Instant};
use support::{Project, call, code, tool_with};
use tool_harness::{Arguments, Call};

/// Resident memory of this process, in KiB.
fn resident_kb() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

const FAULTS: &[(&str, &str, &[&str])] = &[
    ("huge_list", "def run(args):\n    return len([0] * 1000000000)", &["script.memory_limit"]),
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
    ("deep_result", "def run(args):\n    x = []\n    for i in range(100000):\n        x = [x]\n    return x", &["script.result"]),
    (
        "deep_text",
        "def run(args):\n    x = []\n    for i in range(100000):\n        x = [x]\n    return str(x)",
        &["script.crashed", "script.result", "tool.failed", "script.memory_limit"],
    ),
    (
        "long_loop",
        "def run(args):\n    n = 0\n    for i in range(1000000000):\n        n += 1\n    return n",
        &["tool.timeout", "script.step_limit"],
    ),
    ("huge_result", "def run(args):\n    return \"a\" * 200000000", &["script.result", "script.memory_limit"]),
    (
        "recursion",
        "def f(g, n):\n    if n > 1000:\n        return n\n    return g(g, n + 1)\ndef run(args):\n    return f(f, 0)",
        &["script.recursion"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_ends_in_its_error_within_its_limit_and_the_engine_serves_on() {
    let limits = "timeout_ms: 1500\nlimits: {memory_mb: 128, cpu_ms: 1000}\n";
    let mut files: Vec<(String, String)> =
        FAULTS.iter().map(|(name, script, _)| (format!(".harness/tools/run_{name}.md"), tool_with(limits, script))).collect();
    files.push((".harness/tools/run_echo.md".into(), support::tool("def run(args):\n    return args")));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let project = Project::new(&files);
    let engine = project.engine().await;
    let echo = || call("run_echo", json!({"a": 1})).session("s");
    for _ in 0..20 {
        assert!(!engine.call(echo()).await.is_error);
    }
    let mut before = 0;
    for (round, (name, _, codes)) in [FAULTS, FAULTS].into_iter().flatten().enumerate() {
        if round == FAULTS.len() {
            // The first round brings threads and buffers that stay.
            before = resident_kb();
        }
        let started = Instant::now();
        let result = engine.call(call(&format!("run_{name}"), json!({})).session("s")).await;
        assert!(result.is_error, "{name} gave a result: {:.200}", result.text());
        assert!(codes.contains(&code(&result)), "{name} ended as {}: {:?}", code(&result), result.error);
        // The deadline, 60 ms, and room for a busy machine.
        assert!(started.elapsed() < Duration::from_millis(1500 + 60 + 900), "{name} took {:?}", started.elapsed());
        for _ in 0..if round < FAULTS.len() { 10 } else { 100 } {
            let result = engine.call(echo()).await;
            assert!(!result.is_error, "after {name}: {:?}", result.error);
        }
    }
    let after = resident_kb();
    assert!(after < before + 16 * 1024, "memory grew from {before} to {after} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn source_with_ten_thousand_parentheses_is_a_diagnostic_and_the_rest_loads() {
    let deep = format!("def run(args):\n    return {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    let project = Project::new(&[
        (".harness/tools/run_deep.md", &support::tool(&deep)),
        (".harness/tools/run_echo.md", &support::tool("def run(args):\n    return 1")),
    ]);
    let engine = project.engine().await;
    let codes: Vec<_> = engine.diagnostics().iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, ["SCRIPT_SYNTAX"]);
    assert_eq!(code(&engine.call(call("run_deep", json!({}))).await), "tool.not_advertised");
    assert!(!engine.call(call("run_echo", json!({}))).await.is_error);
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_no_script_can_be_given_are_refused_and_odd_ones_arrive_exactly() {
    let project = Project::script("def run(args):\n    return args");
    let engine = project.engine().await;
    let send = |text: String| engine.call(Call::new("t", Arguments::Text(text)).session("s"));
    let digits = "9".repeat(400);
    for (text, expected) in [
        (r#"{"a": 1e400}"#.to_owned(), "tool.args.malformed_json"),
        (format!(r#"{{"a": {}1{}}}"#, "[".repeat(10_000), "]".repeat(10_000)), "tool.args.malformed_json"),
        (format!(r#"{{"a": {}1{}}}"#, "[".repeat(100), "]".repeat(100)), "tool.args.malformed_json"),
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
    assert_eq!(code(&result), "tool.cancelled");
    assert!(cancelled.elapsed() < Duration::from_millis(250), "{:?}", cancelled.elapsed());
    let mut short = call("t", json!({}));
    short.timeout = Some(Duration::from_millis(200));
    let started = Instant::now();
    let result = engine.call(short).await;
    assert_eq!(code(&result), "tool.timeout");
    assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
}
