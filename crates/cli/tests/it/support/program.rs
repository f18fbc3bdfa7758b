//! The real program, run as a person runs it.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The output and exit code of the program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// The one document on standard output; anything else there is a failure.
    pub(crate) fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|problem| {
            panic!(
                "{problem} in `{:.300}`; stderr `{:.300}`",
                self.out, self.err
            )
        })
    }

    /// Fails unless the program ended with this code.
    #[track_caller]
    pub(crate) fn ends(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "stdout `{:.400}` stderr `{:.400}`",
            self.out,
            self.err
        );
        self
    }
}

/// A program to be started in a folder.
#[expect(
    clippy::disallowed_methods,
    reason = "tests drive the program from outside"
)]
pub(crate) fn command(program: impl AsRef<OsStr>, folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_remove("RUST_BACKTRACE")
        .env_remove("NO_COLOR");
    // The developer may have their own user file, which is not under test.
    command.env("XDG_CONFIG_HOME", "/nonexistent").env(
        "XDG_STATE_HOME",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/state"),
    );
    command
}

/// The program under test, not started yet.
pub(crate) fn prepared(folder: &Path, words: &[&str]) -> Command {
    command(env!("CARGO_BIN_EXE_harness"), folder, words)
}

/// Runs the program in a folder to its end.
pub(crate) fn harness(folder: &Path, words: &[&str]) -> Ran {
    Ran::from(
        prepared(folder, words)
            .output()
            .expect("the program starts"),
    )
}

/// Like [`harness`], with something on standard input.
pub(crate) fn harness_reading(folder: &Path, words: &[&str], input: &str) -> Ran {
    let mut child = prepared(folder, words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child
        .stdin
        .take()
        .expect("its input")
        .write_all(input.as_bytes())
        .expect("written");
    Ran::from(child.wait_with_output().expect("it ends"))
}

/// Sends a signal, as `INT`, to a process.
pub(crate) fn signal(pid: u32, name: &str) {
    let sent = command("kill", Path::new("/"), &["-s", name, &pid.to_string()])
        .status()
        .expect("kill runs");
    assert!(sent.success(), "no signal {name} to {pid}");
}

/// The living children of a process, with theirs.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let children = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
        .flat_map(|task| {
            let listed = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            listed
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<u32>>()
        });
    children
        .flat_map(|child| std::iter::once(child).chain(descendants(child)))
        .collect()
}

/// How long anything may take on a busy machine before it counts as hanging.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Processor time that a process has used.
pub(crate) fn processor_time(pid: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default();
    let ticks: u64 = fields
        .split_whitespace()
        .skip(11)
        .take(2)
        .filter_map(|ticks| ticks.parse::<u64>().ok())
        .sum();
    Duration::from_millis(10 * ticks)
}

/// Waits until something holds; fails if it never does.
#[track_caller]
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < SOON, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until none of these processes lives; fails with the survivors if that takes too long.
pub(crate) fn gone(pids: &[u32]) -> Vec<u32> {
    let lives = |pid: &u32| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z ")
    };
    let started = Instant::now();
    loop {
        let left: Vec<u32> = pids.iter().copied().filter(lives).collect();
        if left.is_empty() || started.elapsed() > SOON {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Copies a program so that it can be started at once. Another process writes it: if this one did, a process that
/// another test starts would inherit the open file, and the kernel starts no program that is open for writing.
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let copied = command("cp", Path::new("/"), &[])
        .arg(from)
        .arg(to)
        .status()
        .expect("cp runs");
    assert!(copied.success(), "{} is not copied", from.display());
}

/// Writes a program that can be started at once, through another process for the same reason.
pub(crate) fn write_program(path: &Path, text: &str) {
    let write = "cat > \"$0\" && chmod 755 \"$0\"";
    let mut child = command("sh", Path::new("/"), &["-c", write])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("sh runs");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).expect("written");
    drop(input);
    assert!(child.wait().expect("it ends").success());
}

/// A folder of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The program of an example. `cargo test --workspace` builds it for the example's own test; a run
/// of this package alone builds it here.
pub(crate) fn example_program(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let folder = Path::new(env!("CARGO_BIN_EXE_harness"))
        .parent()
        .expect("a folder");
    BUILT.get_or_init(|| {
        if ["embed", "typed"]
            .iter()
            .all(|name| folder.join(name).exists())
        {
            return;
        }
        let words = [
            "build",
            "--quiet",
            "--offline",
            "--locked",
            "-p",
            "embed",
            "-p",
            "typed",
        ];
        let built = command(env!("CARGO"), &repository("."), &words)
            .output()
            .expect("cargo runs");
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{said:.2000}");
    });
    folder.join(name)
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}
