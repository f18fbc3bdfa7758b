//! Whatever goes wrong, the call does not run: exit code 2, and a readable reason.

use super::{before, hook};
use crate::support::program::{descendants, prepared, processor_time, signal, until};
use crate::support::{Project, hook as hook_file, hook_with};
use serde_json::json;
use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

fn allowing() -> Project {
    Project::new(&[
        ("harness.md", "---\nformat: 1\n---\n"),
        (
            ".harness/hooks/a.md",
            &hook_file(
                "tool.pre",
                "def handle(event, payload):\n    return allow()",
            ),
        ),
    ])
}

fn bash(project: &Project) -> String {
    before(project.path(), "Bash", &json!({"command": "ls"}))
}

#[track_caller]
fn stopped(project: &Project, message: &str, reason: &str) {
    for client in ["claude-code", "codex"] {
        let ran = hook(project.path(), client, message).ends(2);
        assert_eq!(ran.out, "");
        assert!(
            ran.err.starts_with("error: ") && ran.err.contains(reason),
            "{client}: {}",
            ran.err
        );
    }
}

#[test]
fn malformed_messages_stop_the_call() {
    let project = allowing();
    let text = |value: serde_json::Value| value.to_string();
    for (message, reason) in [
        ("{broken".to_owned(), "the client's message is not JSON"),
        (String::new(), "the client's message is empty"),
        (" \n".to_owned(), "the client's message is empty"),
        ("[]".to_owned(), "not a JSON object"),
        ("{}".to_owned(), "no `hook_event_name`"),
        (bash(&project)[..80].to_owned(), "not JSON"),
        (bash(&project) + "{}", "not JSON"),
        (
            text(json!({"hook_event_name": "BeforeEverything", "cwd": project.path()})),
            "does not know",
        ),
        (
            text(json!({"hook_event_name": "PreToolUse", "cwd": project.path()})),
            "no `tool_name`",
        ),
        ("\u{0}".to_owned(), "not JSON"),
    ] {
        stopped(&project, &message, reason);
    }
}

#[test]
fn arguments_that_cannot_be_judged_are_refused() {
    let project = allowing();
    for input in [
        json!(null),
        json!("ls"),
        json!(["ls"]),
        json!({"command": {"not": "text"}}),
    ] {
        let reason = super::refusal(hook(
            project.path(),
            "claude-code",
            &before(project.path(), "Bash", &input),
        ))
        .expect("a refusal");
        assert!(reason.starts_with("tool.args."), "{reason}");
    }
}

#[test]
fn a_message_of_fifty_megabytes_stops_the_call() {
    let project = allowing();
    let message = before(
        project.path(),
        "Write",
        &json!({"file_path": "x", "content": "x".repeat(50 << 20)}),
    );
    stopped(&project, &message, "longer than");
}

#[test]
fn a_project_with_missing_or_broken_files_stops_the_call() {
    let project = allowing();
    let message = bash(&project);
    project.write(
        ".harness/hooks/a.md",
        b"---\nevent: tool.pre\nscript: |\n  def handle(event, payload)\n---\n",
    );
    stopped(&project, &message, "hook `a` could not be loaded");
    project.write(".harness/hooks/a.md", b"not a hook");
    stopped(&project, &message, "hook `a` could not be loaded");
    std::fs::remove_file(project.path().join(".harness/hooks/a.md")).expect("removed");
    std::os::unix::fs::symlink("gone.md", project.path().join(".harness/hooks/b.md"))
        .expect("a link");
    stopped(&project, &message, "hook `b` could not be loaded");
    std::fs::remove_file(project.path().join(".harness/hooks/b.md")).expect("removed");
    project.write("harness.md", b"---\nformat: 1\ntools_polcy: {}\n---\n");
    stopped(&project, &message, "root file is broken");
    std::fs::remove_file(project.path().join("harness.md")).expect("removed");
    std::os::unix::fs::symlink("gone.md", project.path().join("harness.md")).expect("a link");
    stopped(&project, &message, "root file is broken");
    std::fs::remove_dir_all(project.path().join(".harness")).expect("removed");
    stopped(&project, &message, "root file is broken");
}

#[test]
fn two_hooks_with_one_name_stop_the_call() {
    let project = allowing();
    let message = bash(&project);
    let text = "event: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n";
    project.write(
        ".harness/hooks/same.md",
        format!("---\n{text}---\nLets pass.\n").as_bytes(),
    );
    hook(project.path(), "claude-code", &message).ends(0);
    let entry = text
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect::<String>();
    project.write(
        ".harness/plugins/more.md",
        format!("---\nhooks:\n  - name: same\n{entry}---\n").as_bytes(),
    );
    stopped(&project, &message, "`same`");
}

#[test]
fn unreadable_rules_are_not_treated_as_absent() {
    let project = allowing();
    let message = bash(&project);
    std::fs::remove_dir_all(project.path().join(".harness")).expect("removed");
    std::os::unix::fs::symlink("gone", project.path().join(".harness")).expect("a link");
    stopped(&project, &message, ".harness");
    std::fs::remove_file(project.path().join(".harness")).expect("removed");
    assert_eq!(hook(project.path(), "codex", &message).ends(0).out, "");
    project.write(".harness", b"a file");
    stopped(&project, &message, ".harness");
    // Root may search every folder, so use a name too long for the kernel, which fails in the same way.
    let long = before(
        &project.path().join("x".repeat(5000)),
        "Bash",
        &json!({"command": "ls"}),
    );
    let elsewhere = tempfile::tempdir().expect("a folder");
    assert!(
        hook(elsewhere.path(), "codex", &long)
            .ends(2)
            .err
            .contains("cannot tell whether")
    );
}

#[test]
fn a_project_named_by_the_option_judges() {
    let project = Project::new(&[(
        "harness.md",
        "---\nformat: 1\ntools_policy: { deny: [run_command] }\n---\n",
    )]);
    let elsewhere = tempfile::tempdir().expect("a folder");
    let ran = |named: &std::path::Path| {
        let named = named.to_string_lossy().into_owned();
        let message = before(elsewhere.path(), "Bash", &json!({"command": "ls"}));
        crate::support::program::harness_reading(
            elsewhere.path(),
            &["--project", &named, "hook", "codex"],
            &message,
        )
    };
    assert!(super::refusal(ran(project.path())).is_some());
    assert!(
        ran(elsewhere.path())
            .ends(2)
            .err
            .contains("no harness project at")
    );
}

#[test]
fn a_relative_folder_in_a_message_is_named_in_the_error() {
    for cwd in ["src", ""] {
        let project = allowing();
        let message = json!({"hook_event_name": "PreToolUse", "cwd": cwd, "tool_name": "Bash", "tool_input": {"command": "ls"}});
        stopped(
            &project,
            &message.to_string(),
            &format!("`cwd` of the client's message, `{cwd}`,"),
        );
    }
}

#[test]
fn a_failing_post_hook_withholds_the_result_unless_it_says_otherwise() {
    let failing = hook_file(
        "tool.post",
        "def handle(event, payload):\n    return payload[\"args\"][\"nothing\"]",
    );
    let open = failing.replace("event: tool.post\n", "event: tool.post\non_error: allow\n");
    let ran = |file: &str| {
        let project = Project::new(&[
            ("harness.md", "---\nformat: 1\n---\n"),
            (".harness/hooks/a.md", file),
        ]);
        let message = json!({
            "cwd": project.path(), "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
            "tool_response": {"stdout": "a secret", "stderr": ""},
        });
        hook(project.path(), "claude-code", &message.to_string()).ends(0)
    };
    let closed = ran(&failing);
    assert!(
        closed.out.contains("hook `a` gave no decision") && !closed.out.contains("a secret"),
        "{}",
        closed.out
    );
    let opened = ran(&open);
    assert_eq!(opened.out, "");
    assert!(
        opened
            .err
            .starts_with("warning: hook `a` failed on `tool.post`"),
        "{}",
        opened.err
    );
}

#[test]
fn a_hook_without_a_decision_stops_the_call() {
    let project = allowing();
    for (script, reason) in [
        (
            "def handle(event, payload):\n    return payload[\"args\"][\"nothing\"]",
            "gave no decision",
        ),
        (
            "def handle(event, payload):\n    return [0] * 1000000000",
            "gave no decision",
        ),
        (
            "def handle(event, payload):\n    return 42",
            "not a decision",
        ),
        (
            "def handle(event, payload):\n    for i in range(100000):\n        for j in range(100000):\n            pass\n    return allow()",
            "gave no decision",
        ),
    ] {
        project.write(
            ".harness/hooks/a.md",
            hook_file("tool.pre", script).as_bytes(),
        );
        stopped(&project, &bash(&project), reason);
    }
}

#[test]
fn a_killed_worker_stops_the_call() {
    let script = "def handle(event, payload):\n    for i in range(100000):\n        for j in range(100000):\n            pass\n    return allow()";
    let project = Project::new(&[(
        ".harness/hooks/slow.md",
        &hook_with("tool.pre", "timeout_ms: 15000\n", script),
    )]);
    let mut child = prepared(project.path(), &["hook", "claude-code"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child
        .stdin
        .take()
        .expect("its input")
        .write_all(bash(&project).as_bytes())
        .expect("written");
    // A worker that only checks the script uses less.
    let at_work = |worker: &u32| processor_time(*worker) > Duration::from_millis(500);
    until("a worker that runs the hook", || {
        descendants(child.id()).iter().any(at_work)
    });
    let (workers, started) = (descendants(child.id()), Instant::now());
    workers.iter().for_each(|worker| signal(*worker, "KILL"));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("the worker died"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(started.elapsed() < Duration::from_secs(10), "{started:?}");
}

#[test]
fn an_answer_that_cannot_be_written_stops_the_call() {
    let project = Project::new(&[(
        ".harness/hooks/no.md",
        &hook_file(
            "tool.pre",
            "def handle(event, payload):\n    return block(\"no\")",
        ),
    )]);
    let ends = |out: Stdio| {
        let mut child = prepared(project.path(), &["hook", "claude-code"])
            .stdin(Stdio::piped())
            .stdout(out)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child
            .stdin
            .take()
            .expect("its input")
            .write_all(bash(&project).as_bytes())
            .expect("written");
        drop(child.stdout.take());
        child.wait_with_output().expect("it ends")
    };
    // A full disk, and a reader that is gone.
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("a full device");
    let output = ends(full.into());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("No space left"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(ends(Stdio::piped()).status.code(), Some(2));
    // Closed output, which the program finds opened on /dev/null.
    let output = ends(Stdio::null());
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("blocked the call: no"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_wrong_command_line_stops_the_call() {
    let project = allowing();
    for words in [
        &["hook"][..],
        &["hook", "nobody"],
        &["hook", "codex", "--what"],
    ] {
        assert_eq!(
            crate::support::program::harness(project.path(), words).code,
            Some(2),
            "{words:?}"
        );
    }
}

#[test]
fn a_client_that_never_finishes_its_message_gets_a_refusal_in_time() {
    let project = allowing();
    let mut child = prepared(project.path(), &["hook", "codex"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let _held = child.stdin.take();
    let started = Instant::now();
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "clients wait for a minute"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("did not decide within"));
}
