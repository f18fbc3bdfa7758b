//! Starts `true` and captures its output: bare, in each tier, and in `bwrap` with the same mounts.

use crate::sample::microseconds;
use crate::{Report, Samples};
use anyhow::{Context, ensure};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::{Command as Bare, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tool_harness::containment::Containment;
use tool_harness::outside::Machine;
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::{Access, Files, Limits, Network, Plan, Programs};
use tool_harness_sandbox::process::{Command, End, Sandbox};
use tool_harness_sandbox::tier::Tier;

/// Starts per case; the cases take turns.
const ROUNDS: usize = 200;
/// Rounds before that, which fill the system's caches.
const WARM_UP: usize = 10;
/// The pause before each start, so that the cleanup of the previous one is not measured. An agent's
/// calls are further apart.
const PAUSE: Duration = Duration::from_millis(10);
const PROGRAM: &str = "/bin/true";

/// One way of starting the program.
struct Case<'a> {
    name: &'static str,
    start: Box<dyn Fn() -> anyhow::Result<()> + 'a>,
    times: Samples,
}

impl<'a> Case<'a> {
    fn new(name: &'static str, start: impl Fn() -> anyhow::Result<()> + 'a) -> Self {
        Self {
            name,
            start: Box::new(start),
            times: Samples::default(),
        }
    }
}

/// Measures process starts.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    // The same runtime as in the program.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let place = TempDir::new()?;
    let workspace = place.path().canonicalize()?;
    std::fs::create_dir(workspace.join("src"))?;
    std::fs::write(workspace.join("src/main.rs"), "fn main() {}\n")?;
    let plan = plan(&workspace);
    let networked = Plan {
        network: Network::Allowed(Domains::parse(&["example.com"])?),
        ..plan.clone()
    };
    let machines = [
        Machine::default(),
        Machine::default(),
        Machine::with_tier(Tier::B),
        Machine::with_tier(Tier::B),
    ];
    let [strong, strong_once, weak, weak_once] = machines
        .each_ref()
        .map(|machine| machine.sandbox(Containment::On));
    let count = Cell::new(0);
    // A plan that the sandbox has not seen: it has prepared nothing for it.
    let new = |plan: &Plan| {
        count.set(count.get() + 1);
        let limits = Limits {
            memory_bytes: plan.limits.memory_bytes + (count.get() << 12),
            ..plan.limits
        };
        Plan {
            limits,
            ..plan.clone()
        }
    };
    let covered = if strong.tier() == Tier::A {
        covered(&runtime, strong, &plan)?
    } else {
        Vec::new()
    };
    let mut cases = vec![Case::new("bare", || bare(true_program()))];
    if weak.tier() == Tier::B {
        cases.push(Case::new("tier B, first call", || {
            contained(&runtime, weak_once, &new(&plan))
        }));
        cases.push(Case::new("tier B, later call", || {
            contained(&runtime, weak, &plan)
        }));
    }
    if strong.tier() == Tier::A {
        cases.push(Case::new("tier A, first call", || {
            contained(&runtime, strong_once, &new(&plan))
        }));
        cases.push(Case::new("tier A, later call", || {
            contained(&runtime, strong, &plan)
        }));
        cases.push(Case::new("tier A with network capture, first call", || {
            contained(&runtime, strong_once, &new(&networked))
        }));
        cases.push(Case::new("tier A with network capture, later call", || {
            contained(&runtime, strong, &networked)
        }));
    }
    match bare(bwrap(&workspace, &covered)) {
        Ok(()) => cases.push(Case::new("bwrap", || bare(bwrap(&workspace, &covered)))),
        Err(cause) => eprintln!("skipped: bwrap: {cause:#}"),
    }
    for tier in ["tier A", "tier B"]
        .into_iter()
        .filter(|tier| !cases.iter().any(|case| case.name.starts_with(tier)))
    {
        eprintln!("skipped: {tier}: this machine does not support it");
    }
    for round in 0..WARM_UP + ROUNDS {
        for case in &mut cases {
            std::thread::sleep(PAUSE);
            let started = Instant::now();
            (case.start)().with_context(|| case.name)?;
            if round >= WARM_UP {
                case.times.push(microseconds(started.elapsed()));
            }
        }
    }
    add(report, &cases);
    Ok(())
}

fn add(report: &mut Report, cases: &[Case<'_>]) {
    for case in cases {
        report.add_samples(case.name, &case.times, "µs");
    }
    let median = |name: &str| {
        cases
            .iter()
            .find(|case| case.name == name)
            .map(|case| case.times.median())
    };
    for case in cases.iter().filter(|case| case.name != "bare") {
        if let Some(bare) = median("bare") {
            report.add(
                format!("{} / bare", case.name),
                case.times.median() / bare,
                "ratio",
            );
        }
    }
    for case in cases.iter().filter(|case| case.name.starts_with("tier A")) {
        if let Some(bwrap) = median("bwrap") {
            report.add(
                format!("bwrap / {}", case.name),
                bwrap / case.times.median(),
                "ratio",
            );
        }
    }
}

fn contained(
    runtime: &tokio::runtime::Runtime,
    sandbox: &Sandbox,
    plan: &Plan,
) -> anyhow::Result<()> {
    let (sandbox, plan) = (sandbox.clone(), plan.clone());
    // In a task of its own, as every call.
    let task = runtime.spawn(async move {
        sandbox
            .run(
                &plan,
                Command::new(PROGRAM, [""; 0]),
                CancellationToken::new(),
            )
            .await
    });
    let finished = runtime.block_on(task)??;
    ensure!(
        finished.end == End::Exited(0),
        "{:?}: {}",
        finished.end,
        finished.stderr.text
    );
    Ok(())
}

fn bare(mut command: Bare) -> anyhow::Result<()> {
    let ran = command.stdin(Stdio::null()).output()?;
    ensure!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the baseline of the comparison")]
fn true_program() -> Bare {
    Bare::new(PROGRAM)
}

/// The paths that tier A mounts over on this machine: those that are mounted more often inside than
/// outside. `bwrap` has its own options for `/dev` and `/proc`.
fn covered(
    runtime: &tokio::runtime::Runtime,
    sandbox: &Sandbox,
    plan: &Plan,
) -> anyhow::Result<Vec<PathBuf>> {
    const MOUNTS: &str = "/proc/self/mountinfo";
    let inside = runtime.block_on(sandbox.run(
        plan,
        Command::new("/bin/cat", [MOUNTS]),
        CancellationToken::new(),
    ))?;
    ensure!(
        inside.end == End::Exited(0) && !inside.stdout.truncated,
        "{:?}: {}",
        inside.end,
        inside.stderr.text
    );
    let outside = std::fs::read_to_string(MOUNTS)?;
    let places = |text: &str| {
        text.lines()
            .filter_map(|line| line.split(' ').nth(4).map(PathBuf::from))
            .collect::<Vec<_>>()
    };
    let (mut covered, mut outside) = (places(&inside.stdout.text), places(&outside));
    covered.retain(
        |place| match outside.iter().position(|other| other == place) {
            Some(at) => {
                outside.swap_remove(at);
                false
            }
            None => true,
        },
    );
    covered.retain(|place| {
        !["/dev", "/proc"].iter().any(|own| place.starts_with(own))
            && *place != plan.files.workspace
    });
    covered.sort();
    // Tier A prepares its mounts under a private folder, which commands do not see.
    covered.dedup();
    Ok(covered)
}

/// `bwrap` with the mounts and namespaces of tier A. It has no Landlock, system call filter or
/// limits.
#[expect(
    clippy::disallowed_methods,
    reason = "the program is measured from outside"
)]
fn bwrap(workspace: &Path, covered: &[PathBuf]) -> Bare {
    let mut command = Bare::new("bwrap");
    command.args([
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
    ]);
    command.args(["--die-with-parent", "--new-session", "--ro-bind", "/", "/"]);
    for place in covered {
        if place.is_dir() {
            command.arg("--tmpfs").arg(place)
        } else {
            command.args(["--ro-bind", "/dev/null"]).arg(place)
        };
    }
    command.args(["--proc", "/proc", "--dev", "/dev"]);
    command
        .arg("--bind")
        .args([workspace, workspace])
        .arg("--chdir")
        .arg(workspace)
        .arg(PROGRAM);
    command
}

fn plan(workspace: &Path) -> Plan {
    let files = Files {
        project: workspace.to_owned(),
        workspace: workspace.to_owned(),
        access: Access::Write,
        only: Vec::new(),
        hidden: Vec::new(),
        readable: Vec::new(),
        writable: Vec::new(),
        read_only: Vec::new(),
        home: None,
    };
    let environment = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/tmp"),
        ("LANG", "C.UTF-8"),
    ];
    let limits = Limits {
        deadline: Duration::from_secs(60),
        memory_bytes: 2 << 30,
        cpu: Duration::from_secs(60),
        processes: 512,
        file_bytes: 1 << 30,
        tmp_bytes: 256 << 20,
        output_bytes: 64 << 10,
        flood_bytes: 64 << 20,
    };
    let environment = environment
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    Plan {
        files,
        programs: Programs::Any,
        network: Network::None,
        environment,
        limits,
    }
}
