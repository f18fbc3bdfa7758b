//! The worker of a hook is a fork of the program: it must not keep what the program was given.

use super::{before, refusal};
use crate::support::program::SOON;
use crate::support::program::prepared;
use crate::support::{Project, hook as hook_file};
use serde_json::json;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The only child of a process.
fn child_of(parent: u32) -> Option<PathBuf> {
    let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    Some(PathBuf::from("/proc").join(children.split_whitespace().next()?))
}

/// Waits until the worker's system call filter is active.
fn confined(worker: &std::path::Path) -> bool {
    fs::read_to_string(worker.join("status"))
        .is_ok_and(|status| status.lines().any(|line| line == "Seccomp:\t2"))
}

#[test]
fn the_worker_inherits_no_environment_no_message_and_only_its_channel() {
    let script = "def handle(event, payload):\n    return block(\"no\")";
    let project = Project::new(&[(".harness/hooks/guard.md", &hook_file("tool.pre", script))]);
    let mut program = prepared(project.path(), &["hook", "claude-code"])
        .env("CANARY", "a-secret-of-the-client")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let until = Instant::now() + SOON;
    let worker = loop {
        if let Some(worker) = child_of(program.id()).filter(|worker| confined(worker)) {
            break worker;
        }
        assert!(
            Instant::now() < until,
            "no worker was confined before the message came"
        );
        std::thread::sleep(Duration::from_millis(5));
    };
    match (
        fs::read(worker.join("environ")),
        fs::read_dir(worker.join("fd")),
        fs::read_link(worker.join("cwd")),
    ) {
        (Ok(environment), Ok(descriptors), Ok(folder)) => {
            assert!(
                environment.iter().all(|&byte| byte == 0),
                "{}",
                String::from_utf8_lossy(&environment)
            );
            let mut open: Vec<_> = descriptors
                .map(|entry| entry.expect("an entry").file_name())
                .collect();
            open.sort();
            assert_eq!(open, ["3", "4"]);
            assert_eq!(folder, PathBuf::from("/"));
        }
        // Only root can inspect a worker, as intended.
        _ => println!("skipped: only root can inspect a worker"),
    }
    let message = before(project.path(), "Bash", &json!({"command": "ls"}));
    program
        .stdin
        .take()
        .expect("its input")
        .write_all(message.as_bytes())
        .expect("it reads");
    let ran = super::Ran::from(program.wait_with_output().expect("it ends"));
    assert!(refusal(ran).is_some_and(|reason| reason.contains("no")));
    let until = Instant::now() + SOON;
    while worker.exists() {
        assert!(Instant::now() < until, "the worker outlived its program");
        std::thread::sleep(Duration::from_millis(5));
    }
}
