//! The same tests again as an ordinary user.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

const NOBODY: u32 = 65534;

/// Runs the tests of a top-level module (`files`) again as ordinary users, except those modules
/// that hold for all users `alike`: `count` processes at the same time, each with a part. Where
/// only a resource limit bounds processes, the kernel counts everything that a user runs, so each
/// process has its own user and runs one test at a time.
pub(crate) fn run_as_ordinary_users(module: &str, alike: &[&str], count: usize) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: needs root, to become another user");
        return;
    }
    // The build directory may be closed to others, so they get a copy of the test program.
    let place = TempDir::new().expect("a temporary directory");
    let program = place.path().join("tests");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).expect("set");
    // Another process copies it: if this one had the copy open for writing, a process that another
    // test starts would inherit that, and the kernel executes no such file.
    let copied = Command::new("cp")
        .arg(std::env::current_exe().expect("this program"))
        .arg(&program)
        .status()
        .expect("cp runs");
    assert!(copied.success(), "the test program is not copied");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("set");
    let tests = tests_of(&program, module, alike);
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let run = |first: usize| {
            let part: Vec<&String> = tests.iter().skip(first).step_by(count).collect();
            let home = place.path().join(first.to_string());
            let program = &program;
            scope.spawn(move || run_as_user(program, &home, &part))
        };
        let running: Vec<_> = (0..count).map(run).collect();
        running
            .into_iter()
            .map(|running| running.join().expect("no panic"))
            .collect()
    });
    let texts: Vec<_> = outputs
        .iter()
        .map(|output| String::from_utf8_lossy(&output.stdout))
        .collect();
    for (output, text) in outputs.iter().zip(&texts) {
        // The names first: a reader may see only the start of a long text.
        let failed: Vec<&str> = text
            .rsplit_once("\nfailures:\n")
            .into_iter()
            .flat_map(|(_, names)| names.lines().take_while(|line| !line.is_empty()))
            .collect();
        assert!(
            output.status.success(),
            "failed as an ordinary user: {failed:?}\n{}\n{text}",
            String::from_utf8_lossy(&output.stderr)
        );
        for line in text.lines().filter(|line| line.contains("skipped: no")) {
            println!("as an ordinary user, {line}");
        }
        let result = text.lines().rfind(|line| !line.is_empty());
        println!("{}", result.unwrap_or_default());
    }
    assert!(
        texts
            .iter()
            .any(|text| text.contains("skipped: needs root")),
        "it did not run as an ordinary user: {texts:?}"
    );
}

fn tests_of(program: &Path, module: &str, without: &[&str]) -> Vec<String> {
    let listed = busy_retried(|| Command::new(program).arg("--list").output());
    let text = String::from_utf8_lossy(&listed.stdout);
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    let is_wanted = |name: &&str| {
        let mut parts = name.split("::");
        parts.next() == Some(module) && parts.next().is_some_and(|part| !without.contains(&part))
    };
    let tests: Vec<String> = names.filter(is_wanted).map(str::to_owned).collect();
    assert!(!tests.is_empty(), "no tests in {module}");
    tests
}

fn run_as_user(program: &Path, home: &Path, tests: &[&String]) -> Output {
    static NEXT: AtomicU32 = AtomicU32::new(NOBODY);
    let user = NEXT.fetch_sub(1, Ordering::Relaxed);
    fs::create_dir(home).expect("a directory");
    chown(home, Some(user), Some(user)).expect("given away");
    busy_retried(|| {
        let mut command = Command::new(program);
        command
            .args(["--test-threads=1", "--nocapture", "--exact"])
            .args(tests)
            .env("TMPDIR", home)
            .current_dir(home);
        command.uid(user).gid(user).output()
    })
}

/// Runs the program; retries while a process that another test started has it open for writing.
fn busy_retried(run: impl Fn() -> io::Result<Output>) -> Output {
    loop {
        match run() {
            Err(cause) if cause.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            ran => return ran.expect("it runs"),
        }
    }
}
