//! Protected names where they are hard to find: below very many folders, and in unreadable folders.

use crate::process::world::{World, in_every_tier, is_refused};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;
use tool_harness_sandbox::process::End;

/// Nests folders with this name, and runs a line in the innermost.
fn nested(count: usize, name: &str, line: &str) -> String {
    format!(
        "cd src; for n in $(seq {count}); do mkdir {name} && cd -P {name} || exit 9; done; {line}"
    )
}

/// How many files have this name; `find` has no maximal path length.
fn count(world: &World, name: &str) -> usize {
    let found = Command::new("find")
        .arg(world.ws(""))
        .args(["-name", name, "-printf", "x"])
        .output()
        .expect("find runs");
    found.stdout.len()
}

fn remove(world: &World) {
    Command::new("rm")
        .arg("-rf")
        .arg(world.ws("src"))
        .status()
        .expect("rm runs");
    fs::create_dir(world.ws("src")).expect("a folder");
}

#[test]
fn nothing_is_made_where_the_path_is_too_long_to_be_judged() {
    in_every_tier(|world| {
        let world = &World::in_memory(world.sandbox.clone());
        if !world.can_write() {
            return;
        }
        let long = "l".repeat(200);
        for line in ["mkdir .claude", "mkdir .claude", "echo evil > harness.md"] {
            let finished = world.shell(&nested(45, &long, line));
            assert_ne!(finished.end, End::Exited(0), "{line}");
            assert_eq!(
                (count(world, ".claude"), count(world, "harness.md")),
                (0, 0),
                "{line}"
            );
            remove(world);
        }
        // As deep as the kernel can name, anything else can be made.
        let finished = world.shell(&nested(15, &long, "echo fine > note"));
        assert_eq!(
            (finished.end, count(world, "note")),
            (End::Exited(0), 1),
            "{}",
            finished.stderr.text
        );
        remove(world);
    });
}

#[test]
fn depth_costs_no_more_than_its_length() {
    in_every_tier(|world| {
        let world = &World::in_memory(world.sandbox.clone());
        if !world.can_write() {
            return;
        }
        let makes = "import os, sys, time\nstarted = time.time()\nos.chdir('src')\n\
            for n in range(1500):\n    os.mkdir('d'); os.chdir('d')\nprint(time.time() - started, flush=True)\n";
        for (evil, end) in [
            ("", End::Exited(0)),
            ("os.mkdir('.claude')\n", End::Exited(1)),
        ] {
            fs::write(world.ws("src/make.py"), format!("{makes}{evil}")).expect("a file");
            let finished = world.shell("python3 src/make.py");
            assert_eq!(
                finished.end, end,
                "{} {:?}",
                finished.stderr.text, finished.denials
            );
            assert_eq!(count(world, ".claude"), 0);
            // Creating them takes a while by itself: the kernel looks at every folder above each.
            let own = Duration::from_secs_f64(
                finished
                    .stdout
                    .text
                    .trim()
                    .parse()
                    .expect("how long it took"),
            );
            let added = finished.duration.saturating_sub(own);
            println!("1500 levels, made in {own:?} and looked through in {added:?}");
            assert!(added < Duration::from_secs(3), "{added:?}");
            // What exists when a command starts is scanned as well.
            let finished = world.shell("true");
            assert!(
                finished.end == End::Exited(0) && finished.duration < Duration::from_secs(3),
                "{finished:?}"
            );
            remove(world);
        }
    });
}

#[test]
fn names_in_folders_that_cannot_be_read_are_found_while_the_command_runs() {
    in_every_tier(|world| {
        if !world.can_write() {
            return;
        }
        for line in [
            "mkdir -m 300 src/d; mkdir src/d/.claude",
            "mkdir -m 300 src/d; mkdir -m 300 src/d/e; mkdir src/d/e/.claude",
            "mkdir -m 300 src/d; sleep 0.2; echo evil > src/d/harness.md",
            "mkdir -p src/d/e; cd src/d/e; mkdir -m 300 f; cd f; chmod 000 ../../../d; mkdir .claude",
        ] {
            let finished = world.shell(line);
            assert!(is_refused(&finished), "{line}: {}", finished.stderr.text);
            Command::new("chmod")
                .args(["-R", "u+rwx"])
                .arg(world.ws("src"))
                .status()
                .expect("chmod runs");
            assert_eq!(
                (count(world, ".claude"), count(world, "harness.md")),
                (0, 0),
                "{line}"
            );
            remove(world);
        }
        world.says(
            "mkdir -m 300 src/own; echo fine > src/own/note; sleep 0.1; mkdir -m 000 src/other",
        );
        for (folder, mode) in [("src/own", 0o300), ("src/other", 0)] {
            let now = fs::metadata(world.ws(folder))
                .expect("facts")
                .permissions()
                .mode()
                & 0o777;
            assert_eq!(now, mode, "a folder that its maker closed stays closed");
        }
        Command::new("chmod")
            .args(["-R", "u+rwx"])
            .arg(world.ws("src"))
            .status()
            .expect("chmod runs");
    });
}
