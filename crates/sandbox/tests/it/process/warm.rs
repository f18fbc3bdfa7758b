//! Containers made ahead are as good as fresh ones.

use crate::process::world::{SECRET, World, eventually, in_tier, is_refused, runtime};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{Command, CommandOutcome, End, Sandbox};
use tool_harness_sandbox::tier::Tier;

/// Long enough for anything that happens at all.
const LONG: Duration = Duration::from_secs(10);

/// Runs a shell line, and waits until the container of the next one is ready.
fn shell(runtime: &Runtime, world: &World, line: &str) -> CommandOutcome {
    let command = Command::new("/bin/bash", ["-c", line]);
    let finished = runtime
        .block_on(
            world
                .sandbox
                .run(&world.plan, command, CancellationToken::new()),
        )
        .expect(line);
    let workspace = &world.plan.files.workspace;
    // The container of this command may not be gone yet.
    let waits = || {
        let found = containers(workspace);
        std::thread::sleep(Duration::from_millis(20));
        !found.is_empty() && found == containers(workspace)
    };
    assert!(eventually(LONG, waits), "no container was made ahead");
    finished
}

fn says(runtime: &Runtime, world: &World, line: &str) -> String {
    let finished = shell(runtime, world, line);
    assert_eq!(
        finished.end,
        End::Exited(0),
        "{line}: {}",
        finished.stderr.text
    );
    finished.stdout.text
}

#[test]
fn every_command_has_processes_and_temporary_files_of_its_own() {
    in_tier(Tier::A, |world| {
        let runtime = runtime();
        for n in 0..4 {
            let line = "echo $$; ls -A /tmp /dev/shm | grep left; echo /proc/[0-9]*; touch /tmp/left /dev/shm/left; sleep 99 & true";
            let found = says(&runtime, world, line);
            // The shell, after the first process, and nothing of the previous command.
            assert_eq!(found, "2\n/proc/1 /proc/2\n", "{n}");
        }
    });
}

#[test]
fn files_that_became_protected_since_the_container_was_made_are_closed() {
    in_tier(Tier::A, |world| {
        let runtime = runtime();
        fs::write(world.ws("harness.md"), "first").expect("a file");
        let closed = |path: &str| {
            let line = format!(
                "echo evil > {path} || echo evil > {path}/new; mv {path} other; rm -rf {path}; cat {path} {path}/file 2>/dev/null"
            );
            let finished = shell(&runtime, world, &line);
            assert!(
                !finished.stdout.text.contains("evil"),
                "{path}: {}",
                finished.stdout.text
            );
        };
        says(&runtime, world, "true");
        closed("harness.md");
        // Replaced under the same name, as editors do.
        fs::write(world.ws("saved"), "second").expect("a file");
        fs::rename(world.ws("saved"), world.ws("harness.md")).expect("renamed");
        closed("harness.md");
        assert_eq!(
            fs::read_to_string(world.ws("harness.md")).expect("a text"),
            "second"
        );
        // Removed and created again, perhaps with the same inode.
        for n in 0..3 {
            fs::remove_file(world.ws("harness.md")).expect("removed");
            fs::write(world.ws("harness.md"), format!("third {n}")).expect("a file");
            closed("harness.md");
            assert_eq!(
                fs::read_to_string(world.ws("harness.md")).expect("a text"),
                format!("third {n}")
            );
        }
        // Missing when the container was made.
        fs::create_dir(world.ws(".harness")).expect("a directory");
        fs::write(world.ws(".harness/file"), "kept").expect("a file");
        closed(".harness");
        assert_eq!(
            fs::read_to_string(world.ws(".harness/file")).expect("a text"),
            "kept"
        );
        fs::create_dir(world.ws("src/.claude")).expect("a directory");
        fs::write(world.ws("src/.claude/settings.json"), "{}").expect("a file");
        closed("src/.claude/settings.json");
        assert_eq!(
            fs::read_to_string(world.ws("src/.claude/settings.json")).expect("a text"),
            "{}"
        );
        // Removed since the container was made, and created by the command.
        fs::remove_dir_all(world.ws(".harness")).expect("removed");
        assert!(is_refused(&shell(&runtime, world, "mkdir .harness")));
        assert!(!world.ws(".harness").exists());
    });
}

#[test]
fn a_hidden_file_stays_hidden_when_it_is_replaced() {
    in_tier(Tier::A, |world| {
        let runtime = runtime();
        let mut world = World::new(world.sandbox.clone());
        let secret = world.ws("secret");
        world.plan.files.hidden = vec![secret.clone()];
        let make = || {
            fs::create_dir(&secret).expect("a directory");
            fs::write(secret.join("canary"), SECRET).expect("a canary");
        };
        make();
        for _ in 0..3 {
            assert!(
                !shell(&runtime, &world, "cat secret/canary; true")
                    .stdout
                    .text
                    .contains(SECRET)
            );
            fs::remove_dir_all(&secret).expect("removed");
            make();
        }
        assert!(
            !shell(&runtime, &world, "cat secret/canary; true")
                .stdout
                .text
                .contains(SECRET)
        );
    });
}

#[test]
fn a_workspace_that_was_replaced_is_the_new_one() {
    in_tier(Tier::A, |world| {
        let runtime = runtime();
        assert_eq!(says(&runtime, world, "cat src/main.rs"), "inside");
        fs::rename(world.ws(""), world.beside("moved")).expect("renamed");
        fs::create_dir_all(world.ws("src")).expect("a directory");
        fs::write(world.ws("src/main.rs"), "new").expect("a file");
        assert_eq!(
            says(&runtime, world, "cat src/main.rs; echo more > src/made"),
            "new"
        );
        assert!(world.ws("src/made").exists() && !world.beside("moved/src/made").exists());
    });
}

#[test]
fn a_container_that_was_killed_while_it_waited_is_not_used() {
    in_tier(Tier::A, |_| {
        let (runtime, world) = (runtime(), World::new(Sandbox::with_tier(Tier::A)));
        for n in 0..3 {
            assert_eq!(says(&runtime, &world, "echo fine"), "fine\n", "{n}");
            let workspace = &world.plan.files.workspace;
            let are_ended = || {
                let containers = containers(workspace);
                for pid in containers.iter().copied().filter_map(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
                containers.is_empty()
            };
            assert!(eventually(LONG, are_ended));
        }
    });
}

#[test]
fn an_unused_container_ends_with_the_sandbox() {
    in_tier(Tier::A, |_| {
        let (runtime, world) = (runtime(), World::new(Sandbox::with_tier(Tier::A)));
        let mark = world.plan.files.workspace.clone();
        says(&runtime, &world, "true");
        drop(world);
        assert!(eventually(LONG, || containers(&mark).is_empty()));
    });
}

/// Processes in whose mount namespace this workspace is mounted.
fn containers(workspace: &Path) -> Vec<i32> {
    let all = fs::read_dir("/proc").expect("processes").flatten();
    let numbered =
        all.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())));
    let sees = |path: &Path| {
        fs::read_to_string(path.join("mountinfo"))
            .is_ok_and(|text| text.contains(&*workspace.to_string_lossy()))
    };
    numbered
        .filter(|(_, path)| sees(path))
        .map(|(pid, _)| pid)
        .collect()
}
