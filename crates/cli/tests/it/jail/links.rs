//! Links, and folders that become links.

use super::{FIRST_CHANGE, OPERATIONS, SECRET, World, beside};
use crate::support::code;
use crate::support::program::SOON;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn links_out_of_the_workspace_are_denied_and_links_inside_work() {
    let world = World::new().await;
    world.link("../outside/canary", "file");
    world.link(world.base.path().join("outside/canary"), "absolute");
    world.link("../outside/missing", "dangling");
    world.link("../outside", "folder");
    world.link("folder", "chain");
    for path in [
        "folder/canary",
        "folder/x",
        "folder/deep/er/x",
        "chain/sub/canary",
        "chain/x",
    ] {
        world.assert_denied(path, 0).await;
    }
    // The link itself may be moved or removed: it is an entry of the workspace. Nothing follows it.
    let own = OPERATIONS
        .iter()
        .position(|(name, _)| *name == "move_from")
        .expect("it is there");
    for path in ["file", "absolute", "dangling", "folder"] {
        for (operation, _) in &OPERATIONS[..own] {
            let result = world.call(operation, path).await;
            assert_eq!(
                code(&result),
                "tool.failed",
                "{operation} {path}: {:?}",
                result.value
            );
            assert!(!result.text().contains(SECRET));
            world.assert_unharmed(&format!("{operation} {path}"));
        }
    }
    for path in ["file", "folder"] {
        let result = world.call("remove_all", path).await;
        assert!(!result.is_error, "removing a link: {}", result.text());
        world.assert_unharmed("removing a link");
    }
    // The harmless twins.
    world.link("src/main.txt", "inner");
    world.link("src", "inner-folder");
    assert_eq!(
        world.call("read", "inner").await.value,
        Some(json!("a secret\ninside\n"))
    );
    let result = world.call("write", "inner-folder/new.txt").await;
    assert!(
        !result.is_error && world.ws("src/new.txt").exists(),
        "{}",
        result.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hard_link_to_an_outside_file_is_never_written_through() {
    let world = World::new().await;
    let made = fs::hard_link(world.base.path().join("outside/canary"), world.ws("hard"));
    if let Err(error) = made {
        println!("skipped: hard links to another's file: {error}");
        return;
    }
    let before = fs::read_to_string(world.base.path().join("outside/canary")).expect("the canary");
    for (operation, _) in &OPERATIONS[FIRST_CHANGE..OPERATIONS.len() - 3] {
        let result = world.call(operation, "hard").await;
        assert_eq!(
            code(&result),
            "tool.failed",
            "{operation}: {:?}",
            result.value
        );
        assert_eq!(
            fs::read_to_string(world.base.path().join("outside/canary")).expect("the canary"),
            before,
            "{operation}"
        );
    }
    fs::write(world.ws("single"), "a secret").expect("a file");
    let result = world.call("replace", "single").await;
    assert!(
        !result.is_error,
        "a file with one name is written: {}",
        result.text()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn swapping_a_folder_for_a_link_during_calls_never_leads_out() {
    let world = Arc::new(World::new().await);
    fs::create_dir(world.ws("plan")).expect("a folder");
    fs::write(world.ws("plan/canary"), "inside").expect("a file");
    world.link("../outside", "away");
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (world, stop) = (Arc::clone(&world), Arc::clone(&stop));
        move || {
            let (plan, away, aside) = (world.ws("plan"), world.ws("away"), world.ws("aside"));
            while !stop.load(Ordering::Relaxed) {
                for [from, to] in [
                    [&plan, &aside],
                    [&away, &plan],
                    [&plan, &away],
                    [&aside, &plan],
                ] {
                    // A call that finds nothing there creates the folder, which then blocks the swap.
                    while fs::rename(from, to).is_err() {
                        let _ = fs::remove_dir_all(to);
                    }
                }
            }
        }
    });
    let started = Instant::now();
    let (mut tries, mut inside) = (0, 0);
    // Four seconds, or longer on a machine so busy that few calls fit.
    while started.elapsed() < Duration::from_secs(4)
        || ((tries <= 100 || inside == 0) && started.elapsed() < 2 * SOON)
    {
        for operation in ["read", "write", "append", "insert_at"] {
            let result = world.call(operation, "plan/canary").await;
            tries += 1;
            inside += usize::from(!result.is_error);
            assert!(
                !result.text().contains(SECRET),
                "{operation} told the secret"
            );
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().expect("ends");
    let now = beside(world.base.path());
    assert_eq!(
        now, world.before,
        "something outside was changed in {tries} tries"
    );
    assert!(
        tries > 100 && inside > 0,
        "{inside} of {tries} calls found the folder"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn copying_or_replacing_files_changes_no_mode_or_owner_outside() {
    let world = World::new().await;
    fs::set_permissions(world.ws("src/main.txt"), fs::Permissions::from_mode(0o640)).expect("set");
    for operation in ["write", "append"] {
        assert!(!world.call(operation, "src/main.txt").await.is_error);
        assert_eq!(
            fs::metadata(world.ws("src/main.txt"))
                .expect("there")
                .mode()
                & 0o7777,
            0o640,
            "{operation} keeps the mode"
        );
    }
    let value: Value = world
        .call("look", "src/main.txt")
        .await
        .value
        .expect("a value");
    assert_eq!(value[1]["mode"], json!("640"));
    world.assert_unharmed("changing modes");
}
