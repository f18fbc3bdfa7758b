//! Protected files that are replaced while a command runs.

use crate::process::world::{World, eventually, in_every_tier, in_tier, in_time};
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

/// The set-aside files in a folder.
fn set_aside(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .filter(|name| name.starts_with("set-aside-"))
        .collect()
}

const EVIL: &str = "while :; do echo evil > harness.md; echo evil > .git/config; echo evil > .claude/settings.json; done 2>/dev/null";

#[test]
fn what_is_replaced_while_a_command_runs_is_what_it_was_and_the_command_is_ended() {
    in_tier(Tier::A, |world| {
        fs::create_dir_all(world.ws(".git/hooks")).expect("a folder");
        fs::create_dir_all(world.ws(".claude")).expect("a folder");
        for file in ["harness.md", ".git/config", ".claude/settings.json"] {
            fs::write(world.ws(file), "first").expect("a file");
        }
        let at = |path: &str| world.ws(path);
        let save = |path: &str| {
            fs::write(at("saved"), "second").expect("a file");
            fs::rename(at("saved"), at(path)).expect("renamed");
        };
        // Does not overwrite what was put back meanwhile: that would be another write, after the
        // command.
        let make = |path: &str| {
            let made = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(at(path));
            drop(made.map(|mut file| std::io::Write::write_all(&mut file, b"second")));
        };
        let ways: [(&str, &(dyn Fn() + Sync)); 6] = [
            ("harness.md", &|| save("harness.md")),
            (".git/config", &|| save(".git/config")),
            ("harness.md", &|| {
                fs::rename(at("harness.md"), at("harness.md~")).expect("renamed");
                std::thread::sleep(Duration::from_millis(1));
                make("harness.md");
            }),
            ("harness.md", &|| {
                fs::remove_file(at("harness.md")).expect("removed");
                make("harness.md");
            }),
            (".claude", &|| {
                fs::create_dir_all(at("new")).expect("a folder");
                fs::write(at("new/settings.json"), "second").expect("a file");
                fs::rename(at(".claude"), at("old")).expect("renamed");
                let _ = fs::rename(at("new"), at(".claude"));
            }),
            (".git", &|| {
                fs::rename(at(".git"), at("git")).expect("renamed");
                fs::create_dir_all(at(".git")).expect("a folder");
                make(".git/config");
            }),
        ];
        for (n, (name, way)) in ways.into_iter().enumerate() {
            let finished = meanwhile(world, EVIL, way);
            assert_eq!(finished.end, End::Protected, "{n} {name}");
            assert!(
                finished
                    .denials
                    .iter()
                    .any(|denial| denial.what == name && denial.why.contains("it was put back")),
                "{:?}",
                finished.denials
            );
            for file in ["harness.md", ".git/config", ".claude/settings.json"] {
                assert_eq!(text(&at(file)), "first", "{n} {name}: {file}");
            }
            assert!(
                !world
                    .shell("echo evil > harness.md")
                    .stdout
                    .text
                    .contains("evil")
            );
        }
        assert!(!set_aside(&at("")).is_empty(), "what was saved is kept");
    });
}

#[test]
fn a_command_that_starts_meanwhile_does_not_mistake_a_replacement_for_the_original() {
    in_tier(Tier::A, |world| {
        fs::write(world.ws("harness.md"), "first").expect("a file");
        for n in 0..5 {
            let finished = meanwhile(
                world,
                "while :; do echo evil > harness.md; done 2>/dev/null",
                || {
                    fs::write(world.ws("saved"), "second").expect("a file");
                    fs::rename(world.ws("saved"), world.ws("harness.md")).expect("renamed");
                    // Later each time: while the first command is being ended, and while its files
                    // are put back.
                    std::thread::sleep(Duration::from_millis(n));
                    for _ in 0..5 {
                        world.run("/bin/bash", &["-c", "true"]).expect("a start");
                    }
                },
            );
            assert_eq!(finished.end, End::Protected, "{n}");
            assert_eq!(text(&world.ws("harness.md")), "first", "{n}");
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
fn without_namespaces_what_is_replaced_stays_closed_by_itself() {
    in_tier(Tier::B, |world| {
        fs::write(world.ws("harness.md"), "first").expect("a file");
        let save = || {
            fs::write(world.ws("saved"), "second").expect("a file");
            fs::rename(world.ws("saved"), world.ws("harness.md")).expect("renamed");
        };
        if world.can_write() {
            let finished = meanwhile(
                world,
                "for n in $(seq 300); do echo evil > harness.md; done 2>/dev/null; echo done",
                save,
            );
            assert_eq!(finished.end, End::Exited(0), "{:?}", finished.denials);
            assert_eq!(text(&world.ws("harness.md")), "second");
        }
    });
}

#[test]
fn protected_files_a_command_made_are_set_aside_even_if_the_caller_stopped_waiting() {
    in_every_tier(|world| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let [started, go, made] =
            ["src/started", "src/go", "src/.claude/settings.json"].map(|path| world.ws(path));
        let line = "echo > src/started; while [ ! -e src/go ]; do sleep 0.01; done; \
            mkdir src/.claude; echo evil > src/.claude/settings.json; sleep 60";
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
            eventually(Duration::from_secs(10), || made.exists()),
            "it was not made"
        );
        drop(run);
        assert!(eventually(Duration::from_secs(10), || !world
            .ws("src/.claude")
            .exists()));
    });
}

#[test]
fn noise_hides_nothing_and_delays_no_end() {
    in_tier(Tier::A, |world| {
        let noise = "import os\nfor n in range(60000):\n    os.close(os.open('src/noise', os.O_CREAT | os.O_WRONLY)); os.unlink('src/noise')\n";
        fs::write(world.ws("src/noise.py"), noise).expect("a file");
        let line = "python3 src/noise.py & mkdir -p src/deep/er; sleep 0.2; mkdir src/deep/er/.claude; wait";
        assert_eq!(world.shell(line).end, End::Protected);
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
