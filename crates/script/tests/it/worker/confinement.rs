//! What a worker can reach when everything above the system calls has failed: nothing.

use super::supervisor::{BUDGET, End, Worker};
use super::{alone, is_alone};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{Budget, Outcome, Request, WORKER_ARGUMENT};
use tool_harness_sandbox::process::{
    DeathCause, ProcessError, WorkerLimits, WorkerProcess, WorkerProgram,
};

/// Runs one expression in a worker.
fn attempt(expression: &str) -> Result<Outcome, End> {
    let mut worker = Worker::start();
    worker.load(
        1,
        ScriptKind::Tool,
        &format!("def run(args):\n  return {expression}\n"),
        &[],
    );
    worker.run(1, Value::Null, BUDGET)
}

#[test]
fn native_code_in_a_worker_cannot_escape() {
    let folder = tempfile::tempdir().expect("a folder");
    let canary = folder.path().join("canary");
    fs::write(&canary, "unchanged").expect("writes");
    let socket = folder.path().join("socket");
    let unix = UnixListener::bind(&socket).expect("binds");
    unix.set_nonblocking(true).expect("set");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("binds");
    tcp.set_nonblocking(true).expect("set");
    let address = tcp.local_addr().expect("has an address");

    assert_eq!(
        attempt("escape.nothing()"),
        Ok(Outcome::Value(json!("still here")))
    );
    for expression in [
        "escape.read('/etc/passwd')".to_owned(),
        "escape.read('/proc/self/mem')".to_owned(),
        format!("escape.read('{}')", canary.display()),
        format!("escape.write('{}')", canary.display()),
        format!("escape.unix('{}')", socket.display()),
        format!("escape.tcp('{address}')"),
        "escape.exec('/bin/true')".to_owned(),
        format!("escape.kill({})", std::process::id()),
        "escape.thread()".to_owned(),
    ] {
        match attempt(&expression) {
            Err(End::Died(death)) => {
                assert_eq!(death.cause(), DeathCause::Filter, "{expression}: {death:?}")
            }
            other => panic!("{expression}: {other:?}"),
        }
    }
    assert_eq!(fs::read_to_string(&canary).expect("reads"), "unchanged");
    assert!(unix.accept().is_err(), "the socket was reached");
    assert!(tcp.accept().is_err(), "the port was reached");
    // Without confinement the same calls succeed, so the checks above are meaningful.
    assert!(std::net::TcpStream::connect(address).is_ok() && tcp.accept().is_ok());
}

#[test]
fn a_worker_inherits_nothing() {
    // Without close-on-exec, as in careless programs.
    let inherited = rustix::io::dup(fs::File::open("/dev/null").expect("opens")).expect("copies");
    let worker = Worker::start();
    let about = PathBuf::from(format!("/proc/{}", worker.process.id()));
    let status = fs::read_to_string(about.join("status")).expect("reads");
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "Threads:\t2"] {
        assert!(status.contains(line), "no {line} in {status}");
    }
    drop(inherited);
    if !rustix::process::geteuid().is_root() {
        println!("  skipped: the descriptors and environment of a worker can only be read by root");
        return;
    }
    let mut open: Vec<_> = fs::read_dir(about.join("fd"))
        .expect("reads")
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    open.sort();
    assert_eq!(open, ["3", "4"]);
    assert_eq!(fs::read(about.join("environ")).expect("reads"), b"");
    assert_eq!(
        fs::read_link(about.join("cwd")).expect("reads"),
        Path::new("/")
    );
}

#[test]
fn a_worker_exits_when_its_channel_closes() {
    let Worker {
        process, channel, ..
    } = Worker::start();
    assert_eq!(process.try_reap(), None);
    drop(channel);
    assert_eq!(
        process.wait(Duration::from_secs(30)).expect("ends").cause(),
        DeathCause::Closed
    );
    assert_eq!(process.cpu_time(), None);
}

const UNINTERRUPTIBLE: &str =
    "def run(args):\n  x = 3\n  for i in range(60):\n    x = x * x\n  return 1\n";

/// Starts an endless script in a worker, prints its process id and waits to be killed.
fn be_a_harness_that_is_killed() -> ! {
    let mut worker = Worker::start();
    worker.load(1, ScriptKind::Tool, UNINTERRUPTIBLE, &[]);
    worker.send(&Request::Run {
        script: 1,
        args: Value::Null,
        budget: Budget {
            wall_ms: 0,
            cpu_ms: 0,
            ..BUDGET
        },
    });
    while worker
        .process
        .cpu_time()
        .is_some_and(|used| used < Duration::from_millis(150))
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("worker {}", worker.process.id());
    loop {
        std::thread::park();
    }
}

#[test]
fn a_worker_dies_with_a_killed_harness() {
    if is_alone() {
        be_a_harness_that_is_killed();
    }
    let mut harness = alone("worker::confinement::a_worker_dies_with_a_killed_harness")
        .stdout(Stdio::piped())
        .spawn()
        .expect("spawns");
    let worker = BufReader::new(harness.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok)
        .find_map(|line| {
            Some(
                line.split_once("worker ")?
                    .1
                    .parse::<u32>()
                    .ok()?
                    .to_string(),
            )
        })
        .expect("it prints its worker's process id");
    let worker = Path::new("/proc").join(worker);
    assert!(worker.exists(), "{}", worker.display());
    harness.kill().expect("kills");
    harness.wait().expect("reaps");
    let deadline = Instant::now() + Duration::from_secs(30);
    let alive = || fs::read_to_string(worker.join("stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while alive() {
        assert!(Instant::now() < deadline, "the worker outlived its harness");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn workers_leave_nothing_behind() {
    if !is_alone() {
        // Other tests open files and start processes, too.
        let ran = alone("worker::confinement::workers_leave_nothing_behind")
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(
            ran.status.success() && said.contains("1 passed"),
            "{said}{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        return;
    }
    let descriptors = || fs::read_dir("/proc/self/fd").expect("reads").count();
    let children = || fs::read_to_string("/proc/thread-self/children").expect("reads");
    // The first start opens what every later one shares.
    drop(Worker::start());
    let before = descriptors();
    for index in 0..10 {
        let mut worker = Worker::start();
        if index % 2 == 0 {
            worker.load(1, ScriptKind::Tool, UNINTERRUPTIBLE, &[]);
            worker.send(&Request::Run {
                script: 1,
                args: Value::Null,
                budget: BUDGET,
            });
        }
    }
    assert_eq!(descriptors(), before);
    assert_eq!(children(), "");
}

#[test]
fn a_program_that_does_not_exist_cannot_be_started() {
    let program = WorkerProgram {
        path: "/no/such/program".into(),
        argument: WORKER_ARGUMENT,
    };
    let error = WorkerProcess::spawn(&program, &WorkerLimits::default()).expect_err("cannot start");
    assert!(matches!(error, ProcessError::Start { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("cannot start `/no/such/program` as a worker: "),
        "{error}"
    );
}
