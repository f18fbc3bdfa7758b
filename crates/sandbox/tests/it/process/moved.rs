//! Places that are moved while a command writes in them.

use crate::process::world::{World, eventually, in_every_tier, is_refused};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::process::{CommandOutcome, End};

/// Runs a line after its place was moved.
fn after_moving(world: &World, plan: &Plan, line: &str, from: &Path, to: &Path) -> CommandOutcome {
    let (started, go) = (world.ws("src/started"), world.ws("src/go"));
    std::thread::scope(|scope| {
        let line =
            format!("cd src; echo > started; while [ ! -e go ]; do sleep 0.01; done; {line}");
        let running = scope.spawn(move || world.shell_with(plan, &line));
        assert!(
            eventually(Duration::from_secs(10), || started.exists()),
            "it did not start"
        );
        fs::rename(from, to).expect("moved");
        let go = if from == world.ws("") || from == plan.files.workspace {
            to.join("src/go")
        } else {
            go
        };
        fs::write(go, "").expect("a file");
        running.join().expect("it ran")
    })
}

#[test]
fn protected_files_are_not_made_in_a_moved_workspace() {
    in_every_tier(|world| {
        if !world.can_write() {
            return;
        }
        let (from, to) = (world.plan.files.workspace.clone(), world.beside("moved"));
        for line in [
            "mkdir .claude",
            "mkdir -p a/b; echo evil > a/b/harness.md",
            "echo evil > .mcp.json",
        ] {
            let finished = after_moving(world, &world.plan, line, &from, &to);
            assert!(is_refused(&finished), "{line}: {}", finished.stderr.text);
            let names = [".claude", "a/b/harness.md", ".mcp.json"];
            assert!(
                names.iter().all(|name| !to.join("src").join(name).exists()),
                "{line}: it stays"
            );
            fs::remove_dir_all(to.join("src")).expect("removed");
            fs::create_dir(to.join("src")).expect("a folder");
            fs::rename(&to, &from).expect("moved back");
        }
        let finished = after_moving(
            world,
            &world.plan,
            "mkdir a; echo fine > a/note; echo done",
            &from,
            &to,
        );
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "done\n"),
            "{:?}",
            finished.denials
        );
        assert!(to.join("src/a/note").exists());
    });
}

#[test]
fn a_folder_where_the_workspace_was_is_left_alone() {
    in_every_tier(|world| {
        if !world.can_write() {
            return;
        }
        let (from, to) = (world.plan.files.workspace.clone(), world.beside("moved"));
        fs::write(world.ws("harness.md"), "first").expect("a file");
        let (started, go) = (world.ws("src/started"), to.join("src/go"));
        let finished = std::thread::scope(|scope| {
            let line =
                "cd src; echo > started; while [ ! -e go ]; do sleep 0.01; done; mkdir .claude";
            let running = scope.spawn(|| world.shell(line));
            assert!(
                eventually(Duration::from_secs(10), || started.exists()),
                "it did not start"
            );
            fs::rename(&from, &to).expect("moved");
            fs::create_dir_all(from.join("src/.claude")).expect("a folder");
            fs::write(from.join("harness.md"), "another").expect("a file");
            fs::write(&go, "").expect("a file");
            running.join().expect("it ran")
        });
        assert!(is_refused(&finished));
        assert!(
            from.join("src/.claude").exists(),
            "somebody else's is touched"
        );
        assert_eq!(
            fs::read_to_string(from.join("harness.md")).expect("there"),
            "another"
        );
        assert_eq!(
            fs::read_to_string(to.join("harness.md")).expect("there"),
            "first"
        );
        assert!(!to.join("src/.claude").exists());
    });
}

#[test]
fn a_place_beside_the_workspace_is_protected_wherever_it_is_moved() {
    in_every_tier(|world| {
        if !world.can_write() {
            return;
        }
        let (place, to) = (world.ws("place"), world.beside("moved"));
        fs::create_dir_all(place.join("src")).expect("a folder");
        let mut plan = world.plan.clone();
        (plan.files.workspace, plan.files.writable) = (world.ws(""), vec![place.clone()]);
        plan.files.workspace = fs::canonicalize(&plan.files.workspace).expect("a path");
        plan.files.only = vec![world.ws("src")];
        let line = format!("cd {}/src; cd .; mkdir .claude", place.display());
        // The command enters the folder before it is moved, because no path leads there afterwards.
        let line = line.replace(
            "cd .;",
            "echo > ../started; while [ ! -e go ]; do sleep 0.01; done;",
        );
        let finished = std::thread::scope(|scope| {
            let running = scope.spawn(|| world.shell_with(&plan, &line));
            assert!(
                eventually(Duration::from_secs(10), || place.join("started").exists()),
                "it did not start"
            );
            fs::rename(&place, &to).expect("moved");
            fs::write(to.join("src/go"), "").expect("a file");
            running.join().expect("it ran")
        });
        assert!(is_refused(&finished), "{}", finished.stderr.text);
        assert!(!to.join("src/.claude").exists());
    });
}
