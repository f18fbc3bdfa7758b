//! Folders and files that cannot be read, or change during a load.

use super::{Project, found, pipe, put};
use crate::support::{call, code, hook, tool, user};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_cannot_be_listed_is_reported_and_blocks_if_it_holds_hooks() {
    type Make = fn(&Path);
    let make: &[(&str, Make)] = &[
        ("a file", |path| put(path, b"x")),
        ("a link to itself", |path| {
            symlink(path, path).expect("a link")
        }),
        ("a pipe", pipe),
    ];
    for (what, make) in make {
        for (folder, expected) in [
            ("tools", "tool.unknown"),
            ("hooks", "tool.hook.failed"),
            ("plugins", "tool.hook.failed"),
        ] {
            let project = Project::new();
            fs::remove_dir_all(project.at(&format!(".harness/{folder}"))).expect("gone");
            make(&project.at(&format!(".harness/{folder}")));
            let engine = project.engine().await;
            assert!(
                engine
                    .diagnostics()
                    .iter()
                    .any(|found| found.code == "FILE_UNREADABLE"),
                "{what} {folder}: {:?}",
                found(&engine)
            );
            assert_eq!(
                code(&engine.call(call("run_good", json!({}))).await),
                expected,
                "{what} {folder}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_come_and_go_during_a_load_neither_break_it_nor_drop_a_guard() {
    let project = Project::new();
    let stop = Arc::new(AtomicBool::new(false));
    let guard = hook(
        "tool.pre",
        "def handle(event, payload):\n    return block(\"guarded\")",
    );
    put(&project.at("guard.txt"), guard.as_bytes());
    let churn = std::thread::spawn({
        let (stop, tools) = (Arc::clone(&stop), project.at(".harness/tools"));
        move || {
            for round in (0..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                let path = tools.join(format!("run_{}.md", round % 40));
                match round % 3 {
                    0 => put(&path, tool("def run(args):\n    return 1").as_bytes()),
                    1 => drop(fs::create_dir(&path)),
                    _ => drop(fs::remove_file(&path).or_else(|_| fs::remove_dir(&path))),
                }
            }
        }
    });
    put(&project.at(".harness/hooks/guard.md"), guard.as_bytes());
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        let engine = project.engine().await;
        let result = engine.call(call("run_good", json!({}))).await;
        assert_eq!(
            code(&result),
            "tool.hook.blocked",
            "{:?}",
            found(&engine).iter().take(3).collect::<Vec<_>>()
        );
    }
    stop.store(true, Ordering::Relaxed);
    churn.join().expect("ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_file_or_folder_is_reported_and_blocks_if_it_holds_hooks() {
    if user::is_root() {
        println!(
            "skipped here: root may read everything; `every_test_here_passes_for_an_ordinary_user` runs it as another user"
        );
        return;
    }
    let close =
        |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o0)).expect("closed");
    let text = tool("def run(args):\n    return 1");
    let project = Project::new();
    put(&project.at(".harness/tools/run_closed.md"), text.as_bytes());
    close(&project.at(".harness/tools/run_closed.md"));
    let engine = project.engine().await;
    assert_eq!(
        engine
            .diagnostics()
            .iter()
            .map(|found| found.code)
            .collect::<Vec<_>>(),
        ["FILE_UNREADABLE"]
    );
    assert_eq!(
        code(&engine.call(call("run_closed", json!({}))).await),
        "tool.not_advertised"
    );
    assert_eq!(
        engine.call(call("run_good", json!({}))).await.value,
        Some(json!("good"))
    );
    put(
        &project.at(".harness/hooks/closed.md"),
        hook(
            "tool.pre",
            "def handle(event, payload):\n    return allow()",
        )
        .as_bytes(),
    );
    close(&project.at(".harness/hooks/closed.md"));
    let result = project
        .engine()
        .await
        .call(call("run_good", json!({})))
        .await;
    assert!(
        code(&result) == "tool.hook.failed" && result.text().contains("`closed`"),
        "{}",
        result.text()
    );
    let project = Project::new();
    close(&project.at(".harness/hooks"));
    assert_eq!(
        code(
            &project
                .engine()
                .await
                .call(call("run_good", json!({})))
                .await
        ),
        "tool.hook.failed"
    );
    let project = Project::new();
    put(
        &project.at("harness.md"),
        b"---\ntools_policy: {deny: [run_good]}\n---\n",
    );
    close(&project.at("harness.md"));
    assert_eq!(
        code(
            &project
                .engine()
                .await
                .call(call("run_good", json!({})))
                .await
        ),
        "project.broken"
    );
}
