//! What a command gets: its folder, its environment, its input, and nothing else.

use crate::process::world::{in_every_tier, in_tier, runtime};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{Command, End, Output, Sandbox, SandboxError, Stdin, Stream};
use tool_harness_sandbox::tier::Tier;

#[test]
fn the_output_of_a_command_is_captured() {
    in_every_tier(|world| {
        let finished = world.run("echo", &["hello", "a b", ""]).expect("it runs");
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "hello a b \n")
        );
        assert_eq!(finished.enforced.tier, world.tier());
        let finished = world.shell("echo oops >&2; exit 7");
        assert_eq!(
            (finished.end, finished.stderr.text.as_str()),
            (End::Exited(7), "oops\n")
        );
        assert_eq!(world.shell("kill -TERM $$").end, End::Signalled(15));
    });
}

#[test]
fn it_starts_in_the_workspace_or_a_folder_of_it_and_nowhere_else() {
    in_every_tier(|world| {
        assert_eq!(
            world.says("pwd").trim(),
            world.plan.files.workspace.to_string_lossy()
        );
        let at = |cwd: &str| {
            let mut command = Command::new("/bin/pwd", [""; 0]);
            command.cwd = Some(cwd.into());
            world.run_with(&world.plan, command)
        };
        assert_eq!(
            at("src").expect("runs").stdout.text.trim(),
            world.ws("src").to_string_lossy()
        );
        for cwd in ["..", "/", "/etc", "src/../..", "missing", "src/main.rs"] {
            assert!(matches!(at(cwd), Err(SandboxError::BadFolder(_))), "{cwd}");
        }
    });
}

#[test]
fn its_environment_is_what_the_plan_says() {
    in_every_tier(|world| {
        let text = world.run("env", &[]).expect("runs").stdout.text;
        let expected = if world.tier() == Tier::A {
            "HOME LANG PATH "
        } else {
            "HOME LANG PATH TMPDIR "
        };
        let mut names: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split('=').next())
            .collect();
        names.sort_unstable();
        assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    });
}

#[test]
fn a_command_reads_its_input_and_nothing_else() {
    in_every_tier(|world| {
        assert_eq!(world.run("cat", &[]).expect("runs").stdout.text, "");
        let mut command = Command::new("wc", ["-c"]);
        command.stdin = Stdin::Bytes(vec![b'x'; 1 << 20]);
        assert_eq!(
            world
                .run_with(&world.plan, command)
                .expect("runs")
                .stdout
                .text
                .trim(),
            "1048576"
        );
        // A command that does not read its input is fine.
        let mut command = Command::new("true", [""; 0]);
        command.stdin = Stdin::Bytes(vec![b'x'; 1 << 20]);
        assert_eq!(
            world.run_with(&world.plan, command).expect("runs").end,
            End::Exited(0)
        );
    });
}

#[test]
fn input_output_and_signals_are_passed_on_as_they_come() {
    in_every_tier(|world| {
        runtime().block_on(async {
            let (give, stdin) = mpsc::channel(4);
            let (output, mut take) = mpsc::channel(4);
            let (signal, signals) = mpsc::channel(4);
            let mut command = Command::new(
                "/bin/bash",
                ["-c", "trap 'echo caught; exit 3' USR1; read line; echo got $line; printf '\\xff\\x1b[1m'; while :; do sleep 0.05; done"],
            );
            (command.stdin, command.output, command.signals) = (Stdin::Stream(stdin), Output::Stream(output), Some(signals));
            let (sandbox, plan) = (world.sandbox.clone(), world.plan.clone());
            let run = tokio::spawn(async move { sandbox.run(&plan, command, CancellationToken::new()).await });
            give.send(b"one\n".to_vec()).await.expect("sent");
            let mut said = Vec::new();
            while !said.ends_with(b"\x1b[1m") {
                let (stream, chunk) = take.recv().await.expect("more");
                assert_eq!(stream, Stream::Out);
                said.extend(chunk);
            }
            assert_eq!(said, b"got one\n\xff\x1b[1m");
            signal.send(10).await.expect("sent");
            let (_, chunk) = take.recv().await.expect("more");
            assert_eq!(chunk, b"caught\n");
            let finished = run.await.expect("no panic").expect("ran");
            assert_eq!((finished.end, finished.stdout.text.as_str()), (End::Exited(3), ""));
        });
    });
}

#[test]
fn nothing_runs_where_nothing_can_be_contained_unless_a_person_turned_it_off() {
    let none = Sandbox::with_tier(Tier::None);
    let world = crate::process::world::World::new(none);
    assert!(matches!(
        world.run("echo", &["x"]),
        Err(SandboxError::NoSandbox(_))
    ));
    let world = crate::process::world::World::new(Sandbox::off());
    let finished = world.run("echo", &["x"]).expect("runs");
    assert_eq!(
        (finished.end, finished.enforced.tier),
        (End::Exited(0), Tier::None)
    );
    assert!(
        finished
            .enforced
            .weaker
            .iter()
            .any(|line| line.contains("turned off")),
        "{:?}",
        finished.enforced
    );
}

#[test]
fn a_command_has_no_privileges_and_cannot_gain_any() {
    in_every_tier(|world| {
        let text = world
            .says("id -u; grep -E '^(Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status");
        let mut lines = text.lines();
        assert_ne!(lines.next(), Some("0"));
        let status: Vec<&str> = lines.collect();
        for name in ["CapPrm", "CapEff", "CapAmb"] {
            assert!(
                status
                    .iter()
                    .any(|line| line.starts_with(name) && line.ends_with("0000000000000000")),
                "{name}: {text}"
            );
        }
        assert!(
            status.contains(&"NoNewPrivs:\t1") && status.contains(&"Seccomp:\t2"),
            "{text}"
        );
        if world.tier() == Tier::A {
            assert!(
                status
                    .iter()
                    .any(|line| line.starts_with("CapBnd") && line.ends_with("0000000000000000")),
                "{text}"
            );
        }
        // Programs that change the user have no effect.
        for program in [
            "/usr/bin/su",
            "/usr/bin/passwd",
            "/usr/bin/sudo",
            "/usr/bin/mount",
            "/usr/bin/newgrp",
        ] {
            if crate::process::world::exists(program) {
                let finished = world.shell(&format!(
                    "cp {program} /tmp/x 2>/dev/null; {program} --version >/dev/null 2>&1; id -u"
                ));
                assert_ne!(finished.stdout.text.trim(), "0", "{program}");
            }
        }
    });
}

#[test]
fn no_descriptor_of_the_harness_comes_along() {
    let held = std::fs::File::open("/etc/passwd").expect("a file");
    rustix::io::fcntl_setfd(&held, rustix::io::FdFlags::empty()).expect("set");
    in_every_tier(|world| {
        let text = world.says("ls /proc/self/fd | tr '\\n' ' '");
        // `ls` itself has the folder open.
        assert_eq!(text.trim(), "0 1 2 3");
        assert_eq!(
            world.says("tty 2>/dev/null; (: < /dev/tty) 2>/dev/null || echo none"),
            "not a tty\nnone\n".replace("not a tty\n", &world.says("tty || true"))
        );
    });
    drop(held);
}

#[test]
fn in_namespaces_it_sees_only_its_own_processes_and_no_network() {
    in_tier(Tier::A, |world| {
        let text = world.says("ls /proc | grep -E '^[0-9]+$' | wc -l; hostname 2>/dev/null || cat /proc/sys/kernel/hostname");
        assert!(
            text.lines()
                .next()
                .is_some_and(|count| count.trim().parse::<u32>().is_ok_and(|count| count < 8)),
            "{text}"
        );
        assert!(text.contains("sandbox"), "{text}");
    });
}

#[test]
fn detecting_the_tier_is_quick() {
    let took = || {
        let started = std::time::Instant::now();
        let tier = Sandbox::detect().tier();
        (started.elapsed(), tier)
    };
    // On a busy machine most tries wait for a core; none is quicker than the work itself.
    let (mut quickest, tier) = took();
    for _ in 0..200 {
        quickest = quickest.min(took().0);
        if quickest < std::time::Duration::from_millis(10) {
            break;
        }
    }
    println!("found tier {tier} in {quickest:?}");
    assert!(
        quickest < std::time::Duration::from_millis(10),
        "{quickest:?}"
    );
}
