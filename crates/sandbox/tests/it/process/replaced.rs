//! Protected files that are replaced while a command runs.

use crate::process::world::{World, eventually, in_every_tier, in_tier, in_time, is_refused};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{self, CommandOutcome, End};
use tool_harness_sandbox::tier::Tier;

/// Runs a line that signals its start, and does something outside meanwhile.
fn meanwhile(world: &World, line: &str, outside: impl FnOnce() + Send) -> CommandOutcome {
    let mark = world.ws("src/started");
    let _ = fs::remove_file(&mark);
    std::thread::scope(|scope| {
        let (line, mark) = (format!("echo > src/started; {line}"), &mark);
        let running = scope.spawn(move || world.shell(&line));
        assert!(
            eventually(Duration::from_secs(10), || mark.exists()),
            "it did not start"
        );
        outside();
        running.join().expect("it ran")
    })
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

const EVIL: &str = "for n in $(seq 200); do echo evil > harness.md; echo evil > .git/config; echo evil > .claude/settings.json; done 2>/dev/null; echo done";

#[test]
fn what_a_person_replaces_while_a_command_runs_is_theirs_and_stays_closed() {
    in_every_tier(|world| {
        if !world.can_write() {
            return;
        }
        fs::create_dir_all(world.ws(".git/hooks")).expect("a folder");
        fs::create_dir_all(world.ws(".claude")).expect("a folder");
        let files = ["harness.md", ".git/config", ".claude/settings.json"];
        for file in files {
            fs::write(world.ws(file), "first").expect("a file");
        }
        let at = |path: &str| world.ws(path);
        let save = |path: &str| {
            fs::write(world.beside("saved"), "second").expect("a file");
            fs::rename(world.beside("saved"), at(path)).expect("renamed");
        };
        let ways: [(&str, &(dyn Fn() + Sync)); 5] = [
            ("harness.md", &|| save("harness.md")),
            (".git/config", &|| save(".git/config")),
            ("harness.md", &|| {
                fs::remove_file(at("harness.md")).expect("removed");
                std::thread::sleep(Duration::from_millis(1));
                save("harness.md");
            }),
            (".claude/settings.json", &|| {
                fs::create_dir_all(at("new")).expect("a folder");
                fs::write(at("new/settings.json"), "second").expect("a file");
                fs::rename(at(".claude"), at("old")).expect("renamed");
                fs::rename(at("new"), at(".claude")).expect("renamed");
            }),
            (".git/config", &|| {
                fs::rename(at(".git"), at("git")).expect("renamed");
                fs::create_dir_all(at(".git")).expect("a folder");
                save(".git/config");
            }),
        ];
        for (n, (name, way)) in ways.into_iter().enumerate() {
            let finished = meanwhile(world, EVIL, way);
            let said = (finished.end, finished.stdout.text.as_str());
            assert_eq!(said, (End::Exited(0), "done\n"), "{n} {name}");
            for file in files {
                let expected = if file == name { "second" } else { "first" };
                assert_eq!(text(&at(file)), expected, "{n} {name}: {file}");
                let _ = fs::remove_dir_all(at("old"));
                let _ = fs::remove_dir_all(at("git"));
                fs::write(at(file), "first").expect("a file");
            }
        }
    });
}

#[test]
fn a_persons_edits_do_not_disturb_a_command() {
    in_every_tier(|world| {
        fs::write(world.ws("harness.md"), "first").expect("a file");
        fs::create_dir_all(world.ws(".harness/tools")).expect("a folder");
        let outside = || {
            fs::write(world.ws("harness.md"), "second").expect("a file");
            for (saved, path) in [
                ("src/saved", "src/main.rs"),
                (".harness/saved", ".harness/tools/x.md"),
                ("saved", "notes.md"),
            ] {
                fs::write(world.ws(saved), "second").expect("a file");
                fs::rename(world.ws(saved), world.ws(path)).expect("renamed");
            }
        };
        if world.can_write() {
            let finished = meanwhile(
                world,
                "for n in $(seq 100); do echo evil > harness.md; done 2>/dev/null; sleep 0.2; echo done",
                outside,
            );
            assert_eq!(
                (finished.end, finished.stdout.text.as_str()),
                (End::Exited(0), "done\n"),
                "{:?}",
                finished.denials
            );
            assert_eq!(text(&world.ws("harness.md")), "second");
        }
    });
}

#[test]
fn nothing_is_made_while_nobody_waits_for_the_command() {
    in_every_tier(|world| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let [started, go, tried] =
            ["src/started", "src/go", "src/tried"].map(|path| world.ws(path));
        let line = "echo > src/started; while [ ! -e src/go ]; do sleep 0.01; done; \
            mkdir src/.claude; echo evil > src/.claude/settings.json; echo > src/tried; sleep 60";
        let command = process::Command::new("/bin/bash", ["-c", line]);
        let mut run = Box::pin(
            world
                .sandbox
                .run(&world.plan, command, CancellationToken::new()),
        );
        if !world.can_write() {
            return;
        }
        runtime.block_on(async {
            while !started.exists() {
                let wait = tokio::time::timeout(Duration::from_millis(10), &mut run);
                assert!(wait.await.is_err(), "it ended");
            }
        });
        // Nothing polls the command meanwhile.
        fs::write(go, "").expect("a file");
        assert!(
            eventually(Duration::from_secs(10), || tried.exists()),
            "it did not go on"
        );
        assert!(!world.ws("src/.claude").exists());
        drop(run);
    });
}

#[test]
fn noise_hides_nothing_and_delays_no_end() {
    in_tier(Tier::A, |world| {
        let noise = "import os\nfor n in range(60000):\n    os.close(os.open('src/noise', os.O_CREAT | os.O_WRONLY)); os.unlink('src/noise')\n";
        fs::write(world.ws("src/noise.py"), noise).expect("a file");
        let line = "python3 src/noise.py & mkdir -p src/deep/er; sleep 0.2; mkdir src/deep/er/.claude; wait";
        assert!(is_refused(&world.shell(line)));
        assert!(!world.ws("src/deep/er/.claude").exists());
        let mut plan = world.plan.clone();
        plan.limits.deadline = Duration::from_millis(500);
        in_time(Duration::from_millis(1500), || {
            let noise =
                "while :; do python3 src/noise.py; done & while :; do python3 src/noise.py; done";
            assert_eq!(world.shell_with(&plan, noise).end, End::TimedOut);
        });
    });
}
