//! A workspace with canaries beside it, and the sandboxes to try it in.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::plan::{Access, Files, Limits, Network, Plan, Programs};
use tool_harness_sandbox::process::{Command, CommandOutcome, End, Sandbox, SandboxError};
use tool_harness_sandbox::tier::Tier;

pub(crate) const SECRET: &str = "canary";
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub(crate) struct World {
    base: TempDir,
    pub(crate) sandbox: Sandbox,
    pub(crate) plan: Plan,
}

/// Runs a check in every tier this machine has, and in tier A also like on a kernel without
/// Landlock: all at the same time, because most checks wait more than they work.
pub(crate) fn in_every_tier(check: impl Fn(&World) + Sync) {
    std::thread::scope(|scope| {
        let running = [
            scope.spawn(|| without_landlock(&check)),
            scope.spawn(|| in_tier(Tier::A, &check)),
            scope.spawn(|| in_tier(Tier::B, &check)),
        ];
        for run in running {
            if let Err(panic) = run.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// The same one after the other, for checks that count all processes of a user.
pub(crate) fn in_every_tier_in_turn(check: impl Fn(&World)) {
    without_landlock(&check);
    with_landlock(check);
}

/// Runs a check in every tier this machine has.
pub(crate) fn with_landlock(check: impl Fn(&World)) {
    in_tier(Tier::A, &check);
    in_tier(Tier::B, check);
}

/// Runs a check with namespaces alone, if this machine has them.
pub(crate) fn without_landlock(check: impl Fn(&World)) {
    let sandbox = Sandbox::without_landlock();
    if sandbox.tier() == Tier::A {
        println!("tier A without Landlock");
        check(&World::new(sandbox));
    }
}

/// Runs a check in one tier, if this machine has it.
pub(crate) fn in_tier(tier: Tier, check: impl Fn(&World)) {
    let sandbox = Sandbox::with_tier(tier);
    if sandbox.tier() != tier {
        let has_landlock = sandbox
            .report()
            .layers
            .iter()
            .any(|layer| layer.name == "landlock" && layer.works);
        let may_miss = if tier == Tier::B {
            !has_landlock
        } else {
            !has_namespaces()
        };
        assert!(
            may_miss,
            "this machine has what it needs, and no tier {tier}: {:?}",
            sandbox.report()
        );
        println!(
            "skipped: this machine has no tier {tier}: {:?}",
            sandbox.report()
        );
        return;
    }
    println!("tier {tier}");
    check(&World::new(sandbox));
}

/// Whether another program can make namespaces: then no check of tier A may be skipped.
fn has_namespaces() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let tried = || {
        std::process::Command::new("unshare")
            .args([
                "--user",
                "--map-root-user",
                "--mount",
                "--pid",
                "--fork",
                "true",
            ])
            .output()
    };
    *HAS.get_or_init(|| tried().is_ok_and(|ran| ran.status.success()))
}

impl World {
    pub(crate) fn new(sandbox: Sandbox) -> Self {
        Self::below(TempDir::new().expect("a temporary directory"), sandbox)
    }

    /// In memory if possible: some disks take milliseconds to remove a folder.
    pub(crate) fn in_memory(sandbox: Sandbox) -> Self {
        let base = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
        let base = base.expect("a temporary directory");
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(base.path(), open).expect("set");
        Self::below(base, sandbox)
    }

    fn below(base: TempDir, sandbox: Sandbox) -> Self {
        let at = fs::canonicalize(base.path()).expect("a path");
        for directory in ["ws/src", "outside", "ws-evil"] {
            fs::create_dir_all(at.join(directory)).expect("a directory");
        }
        for canary in ["outside/canary", "ws-evil/canary"] {
            fs::write(at.join(canary), SECRET).expect("a canary");
        }
        fs::write(at.join("ws/src/main.rs"), "inside").expect("a file");
        let files = Files {
            project: at.join("ws"),
            workspace: at.join("ws"),
            access: Access::Write,
            only: Vec::new(),
            hidden: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            read_only: Vec::new(),
            home: None,
        };
        let environment = [("PATH", PATH), ("HOME", "/tmp"), ("LANG", "C.UTF-8")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let limits = Limits {
            deadline: Duration::from_secs(60),
            memory_bytes: 2 << 30,
            cpu: Duration::from_secs(60),
            processes: 128,
            file_bytes: 1 << 30,
            tmp_bytes: 64 << 20,
            output_bytes: 16 << 10,
            flood_bytes: 64 << 20,
        };
        let plan = Plan {
            files,
            programs: Programs::Any,
            network: Network::None,
            environment: environment.into(),
            limits,
        };
        Self {
            base,
            sandbox,
            plan,
        }
    }

    pub(crate) fn tier(&self) -> Tier {
        self.sandbox.tier()
    }

    /// Whether the command may write in the workspace: without namespaces, root's files cannot be
    /// mapped to its user.
    pub(crate) fn can_write(&self) -> bool {
        self.tier() == Tier::A || !rustix::process::geteuid().is_root()
    }

    pub(crate) fn ws(&self, path: &str) -> PathBuf {
        self.plan.files.workspace.join(path)
    }

    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.base.path())
            .expect("a path")
            .join(path)
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> Result<CommandOutcome, SandboxError> {
        self.run_with(&self.plan, Command::new(program, args.iter().copied()))
    }

    pub(crate) fn run_with(
        &self,
        plan: &Plan,
        command: Command,
    ) -> Result<CommandOutcome, SandboxError> {
        shared_runtime().block_on(self.sandbox.run(plan, command, CancellationToken::new()))
    }

    /// Runs a shell line.
    pub(crate) fn shell(&self, line: &str) -> CommandOutcome {
        self.shell_with(&self.plan, line)
    }

    pub(crate) fn shell_with(&self, plan: &Plan, line: &str) -> CommandOutcome {
        self.run_with(plan, Command::new("/bin/bash", ["-c", line]))
            .unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// The line succeeds, and this is its output.
    pub(crate) fn says(&self, line: &str) -> String {
        let finished = self.shell(line);
        assert_eq!(
            finished.end,
            End::Exited(0),
            "{line}: {} {}",
            finished.stdout.text,
            finished.stderr.text
        );
        finished.stdout.text
    }

    /// The line fails, and nothing beside the workspace changed.
    pub(crate) fn refuses(&self, line: &str) -> CommandOutcome {
        let before = self.outside();
        let finished = self.shell(line);
        assert_ne!(
            finished.end,
            End::Exited(0),
            "{line}: {}",
            finished.stdout.text
        );
        assert!(
            !finished.stdout.text.contains(SECRET),
            "{line}: it read the canary"
        );
        assert_eq!(self.outside(), before, "{line}");
        finished
    }

    /// Everything beside the workspace: names, modes, owners, times, texts.
    pub(crate) fn outside(&self) -> Vec<String> {
        let mut found = Vec::new();
        for folder in ["", "outside", "ws-evil"] {
            for entry in fs::read_dir(self.beside(folder)).expect("a directory") {
                let path = entry.expect("an entry").path();
                let facts = fs::symlink_metadata(&path).expect("facts");
                let text = if facts.is_file() {
                    fs::read_to_string(&path).expect("a text")
                } else {
                    String::new()
                };
                let times = if facts.is_file() { facts.mtime() } else { 0 };
                found.push(format!(
                    "{} {:o} {} {times} {text}",
                    path.display(),
                    facts.mode(),
                    facts.uid()
                ));
            }
        }
        found.sort();
        found
    }
}

/// Shared by all tests, so that containers made ahead are used.
fn shared_runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(runtime)
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Runs an ignored test in a process of its own, because it measures the whole process.
pub(crate) fn in_own_process(test: &str) {
    let ran = std::process::Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    println!("{text}");
}

/// A number that no other test uses, not even at the same time in another process, and that is no
/// part of another mark: all have the same length. Programs sleep for that many seconds, so it must
/// not be too large for Python.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(100);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    assert!(number < 900, "too many marks for their length");
    format!("{number}{:07}", std::process::id())
}

/// Processes on this machine whose command line contains this text.
pub(crate) fn processes_with(mark: &str) -> Vec<String> {
    let own = std::process::id().to_string();
    let all = fs::read_dir("/proc")
        .expect("processes")
        .flatten()
        .map(|entry| entry.path());
    let lines = all
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy() != own)
        })
        .filter_map(|path| {
            let line = fs::read(path.join("cmdline")).ok()?;
            let status = fs::read_to_string(path.join("stat")).ok()?;
            let is_zombie = status.rsplit(')').next()?.trim_start().starts_with('Z');
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            (!is_zombie && line.contains(mark)).then(|| format!("{} {line}", path.display()))
        });
    lines.collect()
}

/// Runs something that takes less than `most` on an idle machine. It may be late a few times; the
/// assertions of `act` hold every time.
pub(crate) fn in_time<T>(most: Duration, mut act: impl FnMut() -> T) -> T {
    let mut times = Vec::new();
    while times.len() < 20 {
        let started = Instant::now();
        let done = act();
        let took = started.elapsed();
        if took < most {
            return done;
        }
        times.push(took);
    }
    panic!("it took {times:?}, and {most:?} at most was expected");
}

/// A line that waits to be ended, if it can create what it is ended for.
pub(crate) fn patient(world: &World, line: &str) -> String {
    if world.can_write() {
        line.to_owned()
    } else {
        line.replace("sleep 5", "true")
    }
}

/// Waits until a condition holds.
pub(crate) fn eventually(within: Duration, holds: impl Fn() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < within {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    holds()
}

pub(crate) fn exists(path: &str) -> bool {
    Path::new(path).exists()
}
