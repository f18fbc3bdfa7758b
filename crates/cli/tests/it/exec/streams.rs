//! Output, signals and exits.

use super::project;
use crate::support::Project;
use crate::support::program::{Ran, SOON, command, descendants, gone, harness, prepared, signal};
use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

#[test]
fn output_comes_while_the_command_runs() {
    let project = project();
    let mut child = streaming(&project, "echo first; read line; echo $line");
    let mut first = [0; 6];
    child
        .stdout
        .as_mut()
        .expect("its output")
        .read_exact(&mut first)
        .expect("a line before the command ends");
    assert_eq!(&first, b"first\n");
    child
        .stdin
        .take()
        .expect("its input")
        .write_all(b"second\n")
        .expect("it reads");
    let ran = Ran::from(child.wait_with_output().expect("it ends")).ends(0);
    assert_eq!(ran.out, "second\n");
}

fn streaming(project: &Project, script: &str) -> Child {
    let words = ["exec", "--", "sh", "-c", script];
    prepared(project.path(), &words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts")
}

#[test]
fn a_timeout_ends_everything_the_command_started() {
    let project = project();
    let started = Instant::now();
    // No other process on this machine has it among its arguments.
    let time = format!("4711.{}", std::process::id());
    let line = format!("echo early; setsid sleep {time} & sleep {time}");
    let words = ["exec", "--timeout-ms", "1500", "--", "sh", "-c", &line];
    let ran = harness(project.path(), &words).ends(4);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    assert!(
        ran.out == "early\n" && ran.err.contains("it ran out of time"),
        "{}",
        ran.err
    );
    let left = fs::read_dir("/proc")
        .expect("/proc")
        .flatten()
        .filter(|entry| {
            fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| line.starts_with(format!("sleep\0{time}\0").as_bytes()))
        });
    assert_eq!(left.count(), 0);
}

#[test]
fn signals_are_forwarded_and_a_second_one_ends_everything() {
    let project = project();
    let mut child = streaming(
        &project,
        "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.05; done",
    );
    wait_for(&mut child, b"ready\n");
    signal(child.id(), "INT");
    let ran = Ran::from(child.wait_with_output().expect("it ends")).ends(9);
    assert_eq!(ran.out, "caught\n");

    let mut child = streaming(&project, "trap '' INT TERM; echo ready; sleep 4712");
    wait_for(&mut child, b"ready\n");
    let all = descendants(child.id());
    signal(child.id(), "TERM");
    // Two signals that arrive before the first is seen count as one.
    while child.try_wait().expect("a status").is_none() {
        std::thread::sleep(Duration::from_millis(200));
        signal(child.id(), "TERM");
    }
    Ran::from(child.wait_with_output().expect("it ends")).ends(128 + 15);
    assert_eq!(gone(&all), Vec::<u32>::new());
}

fn wait_for(child: &mut Child, text: &[u8]) {
    let mut read = vec![0; text.len()];
    child
        .stdout
        .as_mut()
        .expect("its output")
        .read_exact(&mut read)
        .expect("a line");
    assert_eq!(read, text);
}

#[test]
fn killing_harness_leaves_no_command_running() {
    let project = project();
    let mut child = streaming(&project, "echo ready; setsid sleep 4713 & sleep 4713");
    wait_for(&mut child, b"ready\n");
    let all = descendants(child.id());
    assert!(!all.is_empty());
    child.kill().expect("killed");
    child.wait().expect("it ends");
    assert_eq!(gone(&all), Vec::<u32>::new());
}

#[test]
fn a_stalled_reader_delays_neither_the_deadline_nor_a_signal() {
    let project = project();
    for line in ["yes", "yes >&2", "seq 1 9999999; exec sleep 4714"] {
        let words = ["exec", "--timeout-ms", "400", "--", "sh", "-c", line];
        let mut child = prepared(project.path(), &words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let started = Instant::now();
        assert_eq!(child.wait().expect("it ends").code(), Some(4), "{line}");
        assert!(started.elapsed() < SOON, "{line}: {:?}", started.elapsed());
    }
    for name in ["INT", "TERM"] {
        let mut child = streaming(&project, "echo ready; exec yes");
        wait_for(&mut child, b"ready\n");
        std::thread::sleep(Duration::from_millis(300));
        let (all, started) = (descendants(child.id()), Instant::now());
        assert!(!all.is_empty());
        signal(child.id(), name);
        assert!(
            child
                .wait()
                .expect("it ends")
                .code()
                .is_some_and(|code| code != 0),
            "{name}"
        );
        assert!(started.elapsed() < SOON, "{name}: {:?}", started.elapsed());
        assert_eq!(gone(&all), Vec::<u32>::new());
    }
}

#[test]
fn a_late_reader_gets_all_of_the_output() {
    let project = project();
    let mut child = streaming(&project, "echo ready; seq 1 400000");
    wait_for(&mut child, b"ready\n");
    std::thread::sleep(Duration::from_millis(700));
    let ran = Ran::from(child.wait_with_output().expect("it ends")).ends(0);
    assert!(
        ran.out.starts_with("1\n2\n") && ran.out.ends_with("\n400000\n"),
        "{} bytes",
        ran.out.len()
    );
    assert_eq!(ran.out.lines().count(), 400_000);
}

#[test]
fn a_closed_pipe_ends_the_command_as_in_any_pipeline() {
    let project = project();
    for line in ["exec yes", "trap '' PIPE; exec yes"] {
        let mut child = streaming(&project, line);
        wait_for(&mut child, b"y\n");
        let all = descendants(child.id());
        drop(child.stdout.take());
        Ran::from(child.wait_with_output().expect("it ends")).ends(128 + 13);
        assert_eq!(gone(&all), Vec::<u32>::new());
    }
    let mut child = streaming(&project, "echo y; read line; exit 7");
    wait_for(&mut child, b"y\n");
    // A command that writes nothing more does not notice.
    drop(child.stdout.take());
    Ran::from(child.wait_with_output().expect("it ends")).ends(7);
}

#[test]
fn lost_output_is_a_failure_and_discarded_output_is_not() {
    let project = project();
    let shell = |line: &str| {
        Ran::from(
            command(
                "sh",
                project.path(),
                &["-c", line, env!("CARGO_BIN_EXE_harness")],
            )
            .output()
            .expect("it runs"),
        )
    };
    let lost = shell("\"$0\" exec -- echo hello >&-").ends(2);
    assert!(
        lost.err.contains("standard output is closed"),
        "{}",
        lost.err
    );
    shell("\"$0\" exec -- sh -c 'echo hello >&2' 2>&-").ends(2);
    shell("\"$0\" exec -- sh -c 'exit 7' >&-").ends(7);
    shell("\"$0\" exec -- echo hello >/dev/null").ends(0);
    shell("\"$0\" exec -- echo hello 1<>/dev/null").ends(0);
}
