//! Names that no call may change.

use super::{FIRST_CHANGE, OPERATIONS, World};
use crate::support::{call, code};
use serde_json::json;
use std::fs;

#[tokio::test(flavor = "multi_thread")]
async fn protected_names_cannot_be_changed_in_any_spelling() {
    let world = World::new().await;
    let ws = world.ws("").display().to_string();
    let protected = [
        "harness.md",
        ".harness/tools/run_read.md",
        ".git/hooks/pre-commit",
        ".git/config",
    ];
    let text = |path: &str| fs::read_to_string(world.ws(path)).expect("still there");
    let before: Vec<String> = protected.iter().map(|path| text(path)).collect();
    let spellings = [
        "harness.md",
        "./harness.md",
        "src/../harness.md",
        "HARNESS.md",
        "harness.yaml",
        "harness.lock",
        "src/harness.md",
        ".harness",
        ".harness/hooks/x.md",
        ".harness/hooks/new/x.md",
        ".harness/tools/run_read.md",
        ".Harness/hooks/x.md",
        ".harne\u{17f}s/hooks/x.md",
        ".git",
        ".git/hooks",
        ".git/hooks/pre-commit",
        ".git/hooks/post-checkout",
        ".git/config",
        ".claude/settings.json",
        ".mcp.json",
        ".vscode/settings.json",
    ];
    for path in spellings.into_iter().map(str::to_owned).chain([
        format!("{ws}harness.md"),
        format!("{ws}.harness/hooks/x.md"),
    ]) {
        for (operation, _) in &OPERATIONS[FIRST_CHANGE..] {
            world.events.clear();
            let result = world.call(operation, &path).await;
            // `mkdir` leaves an existing folder alone, and `replace_all` a text without a match.
            let nothing =
                *operation == "mkdir" && world.ws(&path).is_dir() || result.value == Some(json!(0));
            assert!(
                nothing || code(&result) == "tool.failed",
                "{operation} {path}: {:?}",
                result.value
            );
            for (path, before) in protected.iter().zip(&before) {
                assert_eq!(&text(path), before, "{operation} changed {path}");
            }
        }
        for operation in ["write", "append", "copy_to", "move_to"] {
            world.events.clear();
            assert!(world.call(operation, &path).await.is_error);
            assert!(
                world.events.names().contains(&"file.denied".to_owned()),
                "{operation} {path} was not recorded"
            );
        }
    }
    for path in [
        "harness.yaml",
        "harness.lock",
        ".harness/hooks/x.md",
        ".git/hooks/post-checkout",
        ".claude",
        ".mcp.json",
        "HARNESS.md",
    ] {
        assert!(!world.ws(path).exists(), "{path} was made");
    }
    // Files with similar names are free, and protected files can be read.
    for path in [
        "docs/harness.txt",
        ".github/x.yml",
        "harness.md.bak",
        ".gitignore",
    ] {
        let result = world.call("write", path).await;
        assert!(!result.is_error, "{path}: {}", result.text());
    }
    assert_eq!(
        world.call("read", "harness.md").await.value,
        Some(json!("---\nformat: 1\n---\n"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn protected_names_cannot_be_reached_through_links_moves_or_renames() {
    let world = World::new().await;
    world.link(".harness", "config");
    world.link("harness.md", "alias.md");
    world.link("../.git/hooks", "src/hooks");
    for path in [
        "config/hooks/x.md",
        "config/tools/run_read.md",
        "src/hooks/pre-commit",
        "src/hooks/post-checkout",
    ] {
        for (operation, _) in &OPERATIONS[FIRST_CHANGE..] {
            let result = world.call(operation, path).await;
            let nothing = result.value == Some(json!(0));
            assert!(
                nothing || code(&result) == "tool.failed",
                "{operation} {path}: {:?}",
                result.value
            );
        }
    }
    for (operation, _) in &OPERATIONS[FIRST_CHANGE..OPERATIONS.len() - 3] {
        let result = world.call(operation, "alias.md").await;
        assert!(
            result.is_error || result.value == Some(json!(0)),
            "{operation} alias.md"
        );
    }
    assert_eq!(
        fs::read_to_string(world.ws("harness.md")).expect("there"),
        "---\nformat: 1\n---\n"
    );
    assert_eq!(
        fs::read_to_string(world.ws(".git/hooks/pre-commit")).expect("there"),
        "#!/bin/sh\n"
    );
    assert_eq!(
        fs::read_dir(world.ws(".harness/hooks"))
            .expect("a folder")
            .count(),
        0
    );
    // No folder can be moved or copied to a protected name, and a protected one cannot be moved away.
    fs::create_dir_all(world.ws("prepared/hooks")).expect("a folder");
    fs::write(world.ws("prepared/hooks/evil.md"), "x").expect("a file");
    for (from, to) in [
        ("prepared", ".harness"),
        ("prepared", ".claude"),
        (".harness", "gone"),
        (".git", "gone"),
        ("harness.md", "gone"),
    ] {
        for operation in ["move_from", "copy_from"] {
            let arguments = json!({"path": from, "free": to});
            let result = world
                .engine
                .call(call(&format!("run_{operation}"), arguments).session("s"))
                .await;
            if operation == "copy_from" && to == "gone" {
                let _ = fs::remove_file(world.ws("gone"));
                let _ = fs::remove_dir_all(world.ws("gone"));
                continue;
            }
            assert!(result.is_error, "{operation} {from} {to}");
        }
    }
    assert!(
        !world.ws(".harness/hooks/evil.md").exists()
            && !world.ws(".claude").exists()
            && !world.ws("gone").exists()
    );
    assert!(world.ws(".harness/tools/run_read.md").exists() && world.ws("harness.md").exists());
    let result = world
        .engine
        .call(
            call(
                "run_move_from",
                json!({"path": "prepared", "free": "ready"}),
            )
            .session("s"),
        )
        .await;
    assert!(
        !result.is_error && world.ws("ready/hooks/evil.md").exists(),
        "an ordinary folder moves: {}",
        result.text()
    );
}
