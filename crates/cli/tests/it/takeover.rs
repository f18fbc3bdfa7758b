//! A compromised worker can break the protocol at will. It gains nothing, and hooks decide as before.
//!
//! `takeover.py` plays such a worker: it forwards everything to a real one until a call's arguments name an attack.

use crate::support::program::{SOON, write_program};
use crate::support::{Project, call, code, hook, tool_with};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tool_harness::builtin;
use tool_harness::engine::Engine;
use tool_harness::worker::protocol::WORKER_ARGUMENT;
use tool_harness_sandbox::process::WorkerProgram;

const GUARD: &str = "def handle(event, payload):\n    if payload[\"args\"].get(\"forbidden\"):\n        return block(\"forbidden\")\n    return allow()";

/// A project whose workers are the hostile program, with a tool that is linked with no built-in and one that may write.
struct Hostile {
    project: Project,
    elsewhere: tempfile::TempDir,
}

impl Hostile {
    fn new() -> Self {
        let pure = tool_with(
            "timeout_ms: 1500\nlimits: {cpu_ms: 1000}\n",
            "def run(args):\n    return args.get(\"say\", \"nothing\")",
        );
        let writing = tool_with(
            "timeout_ms: 1500\n",
            "def run(args):\n    if args.get(\"really\"):\n        fs.write(\"note.txt\", \"x\")\n    return fs.exists(\"note.txt\")",
        );
        let guard = hook("tool.pre", GUARD);
        let elsewhere = tempfile::tempdir().expect("a folder");
        // In a folder that only the hostile worker writes to.
        let around = elsewhere.path().join("around");
        std::fs::create_dir(&around).expect("a folder");
        let files = [
            (".harness/tools/run_pure.md", pure.as_str()),
            (".harness/tools/write_note.md", writing.as_str()),
            (".harness/hooks/guard.md", guard.as_str()),
            ("victim.txt", "a victim"),
        ];
        let project = Project::inside(&around, &files);
        let names = builtin::all().map(|(index, module, call)| {
            format!("{:?}: {index}", builtin::full_name(module, call))
        });
        let index = format!("{{{}}}", names.collect::<Vec<_>>().join(", "));
        let script = include_str!("takeover.py")
            .replace("@REAL@", env!("CARGO_BIN_EXE_harness"))
            .replace("@LOG@", &elsewhere.path().join("log").display().to_string())
            .replace("@INDEX@", &index)
            .replace("@BUILTINS@", &builtin::all().count().to_string());
        let path = elsewhere.path().join("worker");
        write_program(&path, &script);
        Self { project, elsewhere }
    }

    async fn engine(&self) -> Engine {
        let program = WorkerProgram {
            path: self.elsewhere.path().join("worker"),
            argument: WORKER_ARGUMENT,
        };
        self.project
            .builder()
            .worker(program)
            .load()
            .await
            .expect("loads")
    }

    /// Process id, kind of frame, kind of script and session of every frame sent to a worker.
    fn frames(&self) -> Vec<[String; 4]> {
        let text = std::fs::read_to_string(self.elsewhere.path().join("log")).expect("the log");
        let parts = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        text.lines()
            .filter_map(|line| parts(line).try_into().ok())
            .collect()
    }

    fn assert_unharmed(&self, after: &str) {
        assert!(
            !self.project.path().join("canary.txt").exists(),
            "{after} wrote the canary"
        );
        assert!(
            !self
                .project
                .path()
                .parent()
                .expect("a parent")
                .join("canary.txt")
                .exists(),
            "{after} wrote outside"
        );
        let read = |path: &str| {
            std::fs::read_to_string(self.project.path().join(path)).expect("still there")
        };
        assert_eq!(read("victim.txt"), "a victim", "{after}");
        assert_eq!(
            read(".harness/hooks/guard.md"),
            hook("tool.pre", GUARD),
            "{after}"
        );
    }
}

/// An honest call works, and the hook blocks a forbidden call.
async fn assert_governed(engine: &Engine, after: &str) {
    for session in ["s", "other"] {
        let result = engine
            .call(call("run_pure", json!({"say": "hello"})).session(session))
            .await;
        assert_eq!(
            result.value,
            Some(json!("hello")),
            "after {after}: {:?}",
            result.error
        );
        let result = engine
            .call(
                call("run_pure", json!({"forbidden": true, "deed": "deed=twice"})).session(session),
            )
            .await;
        assert_eq!(
            code(&result),
            "tool.hook.blocked",
            "after {after}: {:?}",
            result.error
        );
    }
}

const GONE: &[&str] = &["script.crashed"];
const LATE: &[&str] = &["tool.timeout"];

#[tokio::test(flavor = "multi_thread")]
async fn a_compromised_worker_gets_a_typed_error_and_everything_keeps_working() {
    let hostile = Hostile::new();
    let engine = hostile.engine().await;
    assert!(engine.is_valid(), "{:?}", engine.diagnostics());
    assert_governed(&engine, "nothing").await;
    let deeds: &[(&str, &[&str])] = &[
        ("oversized_length", &["script.result"]),
        ("oversized_frame", &["script.result"]),
        ("empty_frame", GONE),
        ("unknown_tag", GONE),
        ("trailing_bytes", GONE),
        ("cut_value", GONE),
        ("not_text", GONE),
        ("not_a_number", GONE),
        ("not_digits", GONE),
        ("too_deep", GONE),
        ("claims_of_length", GONE),
        ("wide_list", GONE),
        ("wide_call", GONE),
        ("ready_again", GONE),
        ("facts", GONE),
        ("verdicts", GONE),
        ("result_without_fields", &["internal", "script.crashed"]),
        ("close", GONE),
        ("close_and_stay", GONE),
        ("die", GONE),
        ("dribble", LATE),
        ("half_a_frame", LATE),
        ("never", LATE),
        ("never_and_deaf_to_signals", LATE),
        ("spin", &["tool.timeout", "script.step_limit"]),
        ("notes_for_ever", &["tool.timeout", "script.step_limit"]),
        ("cross_for_ever", &["tool.timeout", "script.step_limit"]),
        (
            "cross_without_listening",
            &["tool.timeout", "script.step_limit", "script.crashed"],
        ),
    ];
    for (deed, codes) in deeds {
        let started = Instant::now();
        let asked =
            engine.call(call("run_pure", json!({"deed": format!("deed={deed}")})).session("s"));
        let result = tokio::time::timeout(Duration::from_secs(20), asked)
            .await
            .unwrap_or_else(|_| panic!("{deed} hangs"));
        assert!(
            codes.contains(&code(&result)),
            "{deed} ended as {}: {:?}",
            code(&result),
            result.error.as_ref().map(|error| &error.message)
        );
        assert!(
            started.elapsed() < Duration::from_secs(15),
            "{deed} took {:?}",
            started.elapsed()
        );
        hostile.project.events.clear();
        assert_governed(&engine, deed).await;
        hostile.assert_unharmed(deed);
        assert_eq!(engine.workers().0, 0, "{deed} left a worker busy");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_cannot_call_unlinked_builtins_or_pass_them_wrong_arguments() {
    let hostile = Hostile::new();
    let engine = hostile.engine().await;
    let ask =
        |tool: &'static str, arguments: Value| engine.call(call(tool, arguments).session("s"));
    // The harmless twin: the same tool writes in an honest worker.
    let result = ask("write_note", json!({"really": true})).await;
    assert_eq!(result.value, Some(json!(true)), "{:?}", result.error);
    let mut slow = call("run_pure", json!({"deed": "deed=every_builtin"})).session("s");
    slow.timeout = None;
    let result = engine.call(slow).await;
    assert_eq!(
        result.value,
        Some(json!([])),
        "a built-in answered: {:?}",
        result.error
    );
    let result = ask("write_note", json!({"deed": "deed=wrong_arguments"})).await;
    assert_eq!(
        result.value,
        Some(json!([])),
        "a wrong call was answered: {:?}",
        result.error
    );
    hostile.assert_unharmed("crossing");
    assert_governed(&engine, "crossing").await;
    let denied = hostile
        .project
        .events
        .names()
        .iter()
        .filter(|name| *name == "file.denied")
        .count();
    assert_eq!(
        denied, 2,
        "leaving the workspace and a protected name are recorded"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_answer_never_counts_as_the_answer_to_another_call() {
    let hostile = Hostile::new();
    let engine = hostile.engine().await;
    for round in 0..10 {
        let result = engine
            .call(call("run_pure", json!({"deed": "deed=twice"})).session("s"))
            .await;
        assert_eq!(result.value, Some(json!("first")), "{:?}", result.error);
        tokio::time::sleep(Duration::from_millis(round % 3 * 10)).await;
        let result = engine
            .call(call("run_pure", json!({"say": "mine"})).session("s"))
            .await;
        assert_eq!(
            result.value,
            Some(json!("mine")),
            "round {round}: {:?}",
            result.error
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_worker_that_breaks_the_protocol_blocks_the_call() {
    let hostile = Hostile::new();
    let engine = hostile.engine().await;
    for deed in [
        "no_verdicts",
        "too_many_verdicts",
        "a_result_for_a_chain",
        "decision_of_no_kind",
        "close",
        "die",
        "never",
        "never_and_deaf_to_signals",
        "notes_for_ever",
        "cross_for_ever",
        "unknown_tag",
        "oversized_length",
        "ready_again",
        "claims_of_length",
    ] {
        let started = Instant::now();
        let asked = engine
            .call(call("run_pure", json!({"deed": format!("deed=hook_{deed}")})).session("s"));
        let result = tokio::time::timeout(Duration::from_secs(20), asked)
            .await
            .unwrap_or_else(|_| panic!("{deed} hangs"));
        assert_eq!(
            code(&result),
            "tool.hook.failed",
            "{deed}: {:?}",
            result.value
        );
        assert!(
            result
                .error
                .is_some_and(|error| error.message.contains("`guard`")),
            "{deed}"
        );
        assert!(
            started.elapsed() < Duration::from_secs(15),
            "{deed} took {:?}",
            started.elapsed()
        );
        hostile.project.events.clear();
        assert_governed(&engine, deed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ran_a_tool_stays_with_tools_of_its_session() {
    let hostile = Hostile::new();
    let engine = hostile.engine().await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..60 {
        let engine = engine.clone();
        let session = format!("s{}", n % 4);
        let arguments = json!({"mark": format!("session={session}")});
        tasks.spawn(async move {
            engine
                .call(call("run_pure", arguments).session(session))
                .await
        });
    }
    while let Some(result) = tasks.join_next().await {
        let result = result.expect("joins");
        assert!(!result.is_error, "{:?}", result.error);
    }
    let mut served: HashMap<String, HashSet<String>> = HashMap::new();
    let mut judged = HashSet::new();
    let mut read_tools = HashSet::new();
    for [process, frame, kind, session] in hostile.frames() {
        match (frame.as_str(), kind.as_str()) {
            ("2", _) => drop(served.entry(process).or_default().insert(session)),
            ("3", _) => drop(judged.insert(process)),
            ("0", "0") => drop(read_tools.insert(process)),
            _ => {}
        }
    }
    assert!(
        served.len() >= 4 && !judged.is_empty() && !read_tools.is_empty(),
        "{served:?} {judged:?} {read_tools:?}"
    );
    for (process, sessions) in &served {
        assert_eq!(sessions.len(), 1, "worker {process} served {sessions:?}");
        assert!(
            !judged.contains(process),
            "worker {process} ran a tool and a hook"
        );
    }
    assert!(
        judged.is_disjoint(&read_tools),
        "a worker that parsed a tool's script ran a hook"
    );
}

/// Living processes with this parent, from /proc.
fn children(parent: u32) -> Vec<u32> {
    let stat = |path: PathBuf| std::fs::read_to_string(path.join("stat")).ok();
    let of = |text: &str| {
        text.rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok())
    };
    let entries = std::fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| {
        Some((
            entry.file_name().to_str()?.parse::<u32>().ok()?,
            entry.path(),
        ))
    });
    pids.filter(|(_, path)| stat(path.clone()).is_some_and(|text| of(&text) == Some(parent)))
        .map(|(pid, _)| pid)
        .collect()
}

/// Whether a process is gone; a zombie counts as gone.
fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.map_or(true, |text| {
        text.rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
    })
}

#[test]
fn no_worker_outlives_a_killed_harness() {
    for script in [
        "def run(args):\n    sleep(60)\n    return 1",
        "def run(args):\n    n = 0\n    for i in range(1000000000):\n        n = i\n    return n",
    ] {
        let guard = hook(
            "builtin.pre",
            "def handle(event, payload):\n    return allow()",
        );
        let text = tool_with("limits: {cpu_ms: 60000}\n", script);
        let project = Project::new(&[
            (".harness/tools/run_long.md", &text),
            (".harness/hooks/guard.md", &guard),
        ]);
        #[expect(clippy::disallowed_methods, reason = "starts the program under test")]
        let mut harness = std::process::Command::new(env!("CARGO_BIN_EXE_harness"))
            .args(["call", "run_long"])
            .current_dir(project.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        let started = Instant::now();
        let mut workers = Vec::new();
        while started.elapsed() < Duration::from_secs(10)
            && (workers.is_empty() || started.elapsed() < Duration::from_millis(1500))
        {
            std::thread::sleep(Duration::from_millis(50));
            workers = children(harness.id());
        }
        assert!(!workers.is_empty(), "no worker was seen");
        assert!(
            harness.try_wait().expect("a state").is_none(),
            "the call ended by itself"
        );
        harness.kill().expect("killed");
        harness.wait().expect("reaped");
        let killed = Instant::now();
        while !workers.iter().all(|pid| is_gone(*pid)) {
            assert!(killed.elapsed() < SOON, "{workers:?} outlived the harness");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_returns_or_prints_endlessly_is_bounded() {
    for (script, codes) in [
        ("return [None] * 15000000", &["script.result"][..]),
        (
            "return result(data=[None] * 15000000)",
            &["script.result", "script.memory_limit"],
        ),
        (
            "return {str(i): None for i in range(1100000)}",
            &["script.result", "script.memory_limit"],
        ),
        (
            "for i in range(1000000000):\n        print(\"x\")",
            &["tool.timeout", "script.step_limit"],
        ),
        (
            "for i in range(1000000000):\n        log.info(\"x\")",
            &["tool.timeout", "script.step_limit"],
        ),
        ("return len(json.encode([None] * 1000000))", &["none"]),
        ("return [None] * 1000000", &["none"]),
    ] {
        // Only scripts that end at their deadline get a short one.
        let timeout_ms = if codes.contains(&"tool.timeout") {
            1500
        } else {
            60_000
        };
        let text = tool_with(
            &format!("timeout_ms: {timeout_ms}\nlimits: {{cpu_ms: {timeout_ms}}}\n"),
            &format!("def run(args):\n    {script}"),
        );
        let project = Project::new(&[(".harness/tools/run_much.md", &text)]);
        // No sink: only the engine is under test.
        let engine = tool_harness::EngineBuilder::new(project.path())
            .worker(crate::support::worker())
            .load()
            .await
            .expect("loads");
        let started = Instant::now();
        let result = engine.call(call("run_much", json!({}))).await;
        assert!(
            codes.contains(&code(&result)),
            "{script} ended as {}: {:?}",
            code(&result),
            result.error.as_ref().map(|error| &error.message)
        );
        assert!(
            started.elapsed() < 2 * SOON,
            "{script} took {:?}",
            started.elapsed()
        );
    }
}
