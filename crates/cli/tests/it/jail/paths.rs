//! Paths that lead outside, and their harmless twins.

use super::{FIRST_CHANGE, OPERATIONS, SECRET, World};
use crate::support::code;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
async fn parent_steps_and_absolute_paths_are_denied() {
    let world = World::new().await;
    let ws = world.ws("").display().to_string();
    let outside = world
        .base
        .path()
        .join("outside/canary")
        .display()
        .to_string();
    for path in [
        "../outside/canary",
        "../../../../../../../../etc/passwd",
        "src/../../outside/canary",
        "./.././outside/x",
        "..",
    ] {
        world.assert_denied(path, 0).await;
    }
    for path in [
        format!("{ws}../outside/canary"),
        format!("{ws}/../../../../../etc/passwd"),
        outside,
        "/etc/passwd".into(),
    ] {
        world.assert_denied(&path, 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sibling_with_the_workspace_as_name_prefix_is_denied() {
    let world = World::new().await;
    world
        .assert_denied(
            &world
                .base
                .path()
                .join("ws-evil/canary")
                .display()
                .to_string(),
            0,
        )
        .await;
    world.assert_denied("../ws-evil/canary", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn harmless_parent_steps_and_absolute_paths_work() {
    let world = World::new().await;
    let ws = world.ws("").display().to_string();
    for path in [
        "src/main.txt".to_owned(),
        "src/../src/main.txt".into(),
        "./src//main.txt".into(),
        format!("{ws}src/main.txt"),
    ] {
        for (operation, _) in OPERATIONS {
            fs::create_dir_all(world.ws("src")).expect("a folder");
            fs::write(world.ws("src/main.txt"), "a secret\ninside\n").expect("a file");
            fs::write(world.ws("src/spare.txt"), "spare").expect("a file");
            let _ = fs::remove_dir_all(world.ws("free"));
            let result = world.call(operation, &path).await;
            match *operation {
                "list" | "mkdir" => {
                    assert_eq!(code(&result), "tool.failed", "{operation} of a file")
                }
                "copy_to" => {}
                _ => assert_eq!(
                    code(&result),
                    "none",
                    "{operation} {path}: {}",
                    result.text()
                ),
            }
        }
    }
    let result = world.call("mkdir", "ws-evil/deep").await;
    assert!(
        !result.is_error && world.ws("ws-evil/deep").is_dir(),
        "a folder of the sibling's name inside is fine"
    );
    world.assert_unharmed("the benign twins");
    assert!(!world.events.names().contains(&"file.denied".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn kernel_links_in_proc_are_denied() {
    let world = World::new().await;
    let canary = world
        .base
        .path()
        .join("outside/canary")
        .display()
        .to_string();
    for path in [
        format!("/proc/self/root{canary}"),
        "/proc/self/cwd/..".into(),
        "/proc/self/fd/3".into(),
        "/dev/fd/0".into(),
    ] {
        world.assert_denied(&path, 0).await;
    }
    world.link(format!("/proc/self/root{canary}"), "magic");
    world.link("/proc/self/root", "root");
    world.assert_denied(&format!("root{canary}"), 0).await;
    let changes_content = OPERATIONS
        .iter()
        .position(|(name, _)| *name == "move_from")
        .expect("it is there");
    for (operation, _) in OPERATIONS[..changes_content]
        .iter()
        .filter(|(name, _)| *name != "move_to")
    {
        let result = world.call(operation, "magic").await;
        assert_eq!(
            code(&result),
            "tool.failed",
            "{operation} magic: {:?}",
            result.value
        );
    }
    world.assert_unharmed("links of the kernel");
}

#[tokio::test(flavor = "multi_thread")]
async fn outside_files_cannot_be_seen_found_or_listed() {
    let world = World::new().await;
    world.link("../outside", "folder");
    for path in ["../outside/canary", "/etc/passwd", "folder/canary"] {
        let result = world.call("look", path).await;
        assert_ne!(
            result.value.as_ref().and_then(|value| value.get(0)),
            Some(&json!(true)),
            "{path}"
        );
    }
    for pattern in [
        "../**",
        "../outside/*",
        "/etc/*",
        "folder/*",
        "**/canary",
        "**",
    ] {
        let result = world.call("search", pattern).await;
        let text = result
            .value
            .map(|value| value.to_string())
            .unwrap_or_default();
        assert!(
            !text.contains("canary") && !text.contains("passwd") && !text.contains(SECRET),
            "{pattern}: {text}"
        );
    }
    let result = world.call("search", "src/*.txt").await;
    assert_eq!(
        result.value.as_ref().map(|value| &value[0]),
        Some(&json!(["src/main.txt", "src/spare.txt"])),
        "{:?}",
        result.error
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn impossible_paths_and_special_files_fail_at_once() {
    let world = World::new().await;
    let fifo = world.ws("pipe.txt");
    make_pipe(&fifo);
    let started = Instant::now();
    let long = "x".repeat(5000);
    let deep = "d/".repeat(3000) + "x";
    for path in ["", "pipe.txt", "a\0b", &long, &deep, "src/main.txt/x"] {
        for (operation, _) in &OPERATIONS[..FIRST_CHANGE + 3] {
            let result = world.call(operation, path).await;
            let fine = path.is_empty() && *operation == "list";
            assert!(
                result.is_error || fine,
                "{operation} {:?}",
                &path[..path.len().min(20)]
            );
        }
    }
    assert!(
        started.elapsed() < 2 * crate::support::program::SOON,
        "{:?}",
        started.elapsed()
    );
    world.assert_unharmed("odd paths");
}

/// A named pipe, created by `mkfifo`: this crate has no call for it.
fn make_pipe(path: &Path) {
    #[expect(clippy::disallowed_methods, reason = "makes what the test is about")]
    let made = std::process::Command::new("mkfifo")
        .arg(path)
        .status()
        .expect("mkfifo runs");
    assert!(made.success());
}
