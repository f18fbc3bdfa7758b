//! Nothing outlives its call.

use crate::process::world::{
    World, eventually, in_every_tier, in_own_process, in_time, mark, processes_with, runtime,
};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{Command, End, Sandbox};
use tool_harness_sandbox::tier::Tier;

/// Processes that try to stay: in the background, in other sessions, forked twice, ignoring
/// signals.
fn stubborn(mark: &str) -> String {
    format!(
        "trap '' TERM INT HUP; sleep {mark} & setsid sleep {mark} & (setsid bash -c 'trap \"\" TERM; (sleep {mark} &) ; sleep {mark}' &) ; nohup sleep {mark} >/dev/null 2>&1 & \
         python3 -c \"import os, time\nfor _ in range(3):\n  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n      os.execvp('sleep', ['sleep', '{mark}'])\n    os._exit(0)\ntime.sleep({mark})\" & sleep {mark}"
    )
}

#[test]
fn a_deadline_ends_everything_in_time() {
    in_every_tier(|world| {
        let mark = mark();
        let mut plan = world.plan.clone();
        plan.limits.deadline = Duration::from_millis(300);
        in_time(Duration::from_millis(550), || {
            let finished = world.shell_with(&plan, &format!("echo before; {}", stubborn(&mark)));
            assert_eq!(
                (finished.end, finished.stdout.text.as_str()),
                (End::TimedOut, "before\n")
            );
            assert!(
                processes_with(&mark).is_empty(),
                "{:?}",
                processes_with(&mark)
            );
        });
    });
}

#[test]
fn a_cancelled_command_ends_with_everything() {
    in_every_tier(|world| {
        let mark = mark();
        in_time(Duration::from_millis(450), || {
            let cancel = CancellationToken::new();
            let command = Command::new("/bin/bash", ["-c", &stubborn(&mark)]);
            let finished = runtime().block_on(async {
                let later = cancel.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    later.cancel();
                });
                world
                    .sandbox
                    .run(&world.plan, command, cancel)
                    .await
                    .expect("ran")
            });
            assert_eq!(finished.end, End::Cancelled);
            assert!(
                processes_with(&mark).is_empty(),
                "{:?}",
                processes_with(&mark)
            );
        });
    });
}

#[test]
fn processes_that_a_finished_command_left_are_killed() {
    in_every_tier(|world| {
        let mark = mark();
        let finished = world.shell(&format!(
            "sleep {mark} & setsid sleep {mark} & (setsid sleep {mark} &); echo done"
        ));
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "done\n")
        );
        assert!(
            processes_with(&mark).is_empty(),
            "{:?}",
            processes_with(&mark)
        );
    });
}

#[test]
fn a_caller_that_no_longer_waits_leaves_nothing() {
    in_every_tier(|world| {
        let mark = mark();
        runtime().block_on(async {
            let command = Command::new("/bin/bash", ["-c", &stubborn(&mark)]);
            let run = world
                .sandbox
                .run(&world.plan, command, CancellationToken::new());
            assert!(
                tokio::time::timeout(Duration::from_millis(200), run)
                    .await
                    .is_err()
            );
        });
        assert!(
            eventually(Duration::from_secs(10), || processes_with(&mark).is_empty()),
            "{:?}",
            processes_with(&mark)
        );
    });
}

#[test]
fn a_killed_harness_takes_everything_with_it() {
    in_every_tier(|world| {
        let mark = mark();
        let tier = world.tier().to_string();
        let mut harness =
            std::process::Command::new(std::env::current_exe().expect("this program"));
        harness
            .args([
                "--exact",
                "process::life::as_a_harness_that_will_be_killed",
                "--ignored",
                "--nocapture",
            ])
            .env("TIER", tier)
            .env("MARK", &mark);
        harness
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .process_group(0);
        let mut harness = harness.spawn().expect("starts");
        assert!(
            eventually(Duration::from_secs(20), || processes_with(&format!(
                "sleep {mark}"
            ))
            .len()
                >= 6),
            "it did not start"
        );
        harness.kill().expect("killed");
        harness.wait().expect("collected");
        assert!(
            eventually(Duration::from_secs(10), || processes_with(&mark).is_empty()),
            "{:?}",
            processes_with(&mark)
        );
        // Its folders and groups go when the next harness starts; those of a living one stay.
        let (other, id) = (world.says("echo alive"), harness.id());
        assert_eq!(other, "alive\n");
        assert!(
            eventually(Duration::from_secs(20), || {
                drop(Sandbox::with_tier(world.tier()));
                left_by(id).is_empty()
            }),
            "{:?}",
            left_by(id)
        );
        assert_eq!(
            world.says("touch ${TMPDIR:-/tmp}/x && echo still"),
            "still\n"
        );
    });
}

/// Folders and groups that a process made.
pub(crate) fn left_by(id: u32) -> Vec<std::path::PathBuf> {
    let own = format!("harness-call-{id}-");
    let entries = own_groups()
        .into_iter()
        .chain([std::env::temp_dir()])
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&own))
        .map(|entry| entry.path())
        .collect()
}

/// The groups this process is in.
fn own_groups() -> Vec<std::path::PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").expect("groups");
    let folder = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        Some(
            Path::new("/sys/fs/cgroup")
                .join(parts.next()?)
                .join(parts.next()?.trim_start_matches('/')),
        )
    };
    groups.lines().filter_map(folder).collect()
}

#[test]
#[ignore = "started by the test above"]
fn as_a_harness_that_will_be_killed() {
    let (tier, mark) = (
        std::env::var("TIER").expect("set"),
        std::env::var("MARK").expect("set"),
    );
    let world = World::new(Sandbox::with_tier(if tier == "A" {
        Tier::A
    } else {
        Tier::B
    }));
    world.shell(&stubborn(&mark));
}

#[test]
fn two_hundred_at_once_leave_nothing_behind() {
    in_own_process("process::life::two_hundred_at_once_alone");
}

#[test]
#[ignore = "started by the test above"]
fn two_hundred_at_once_alone() {
    for tier in [Tier::A, Tier::B] {
        let sandbox = Sandbox::with_tier(tier);
        if sandbox.tier() != tier {
            println!("skipped: this machine has no tier {tier}");
            continue;
        }
        // Opens the files that a process opens once.
        let warm = World::new(sandbox);
        warm.says("true");
        drop(warm);
        // A busy machine takes a while to tear down the waiting container, which must not count as
        // present before.
        let is_gone = || {
            matches!(
                counted(),
                Counts {
                    namespaces: 0,
                    groups: 0,
                    temporary: 0,
                    children: 0,
                    ..
                }
            )
        };
        assert!(
            eventually(Duration::from_secs(20), is_gone),
            "{:?}",
            counted()
        );
        let mark = mark();
        let before = counted();
        let world = World::new(Sandbox::with_tier(tier));
        let runtime = runtime();
        let ends = runtime.block_on(two_hundred(&world, &mark));
        assert_eq!(
            ends.iter().filter(|end| **end == End::Exited(0)).count(),
            100
        );
        assert_eq!(
            ends.iter().filter(|end| **end == End::Cancelled).count(),
            100
        );
        assert!(
            processes_with(&mark).is_empty(),
            "{:?}",
            processes_with(&mark)
        );
        // Its helper has already made namespaces when this is found out.
        let missing = || {
            world.sandbox.run(
                &world.plan,
                Command::new("/no/such/program", [""; 0]),
                CancellationToken::new(),
            )
        };
        (0..20).for_each(|_| {
            drop(
                runtime
                    .block_on(missing())
                    .expect_err("there is no such program"),
            )
        });
        // The sandbox keeps little for later commands, and releases it when it is dropped.
        let keeps_little = || {
            let kept = counted();
            kept.children <= before.children + 8 && kept.groups <= before.groups + 16
        };
        assert!(
            eventually(Duration::from_secs(10), keeps_little),
            "{before:?} became {:?}",
            counted()
        );
        drop((runtime, world));
        let has_settled = || {
            Counts {
                descriptors: 0,
                ..counted()
            } == Counts {
                descriptors: 0,
                ..before
            }
        };
        assert!(
            eventually(Duration::from_secs(20), has_settled),
            "{before:?} became {:?}",
            counted()
        );
        // Sixteen inotify descriptors are kept for later commands, and no more.
        assert!(
            counted().descriptors <= before.descriptors + 16,
            "{before:?} became {:?}",
            counted()
        );
    }
}

async fn two_hundred(world: &World, mark: &str) -> Vec<End> {
    let mut running = Vec::new();
    // Without cgroups an ordinary user's processes are counted together.
    let mut plan = world.plan.clone();
    plan.limits.processes = 4096;
    for n in 0..200 {
        let (sandbox, plan, cancel) = (
            world.sandbox.clone(),
            plan.clone(),
            CancellationToken::new(),
        );
        let line = if n % 2 == 0 {
            format!("(setsid sleep {mark} &); echo {n}")
        } else {
            stubborn(mark)
        };
        if n % 2 == 1 {
            let cancel = cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(100 + n)).await;
                cancel.cancel();
            });
        }
        running.push(tokio::spawn(async move {
            let finished = sandbox
                .run(&plan, Command::new("/bin/bash", ["-c", &line]), cancel)
                .await
                .expect("ran");
            if n % 2 == 0 {
                assert_eq!(finished.stdout.text, format!("{n}\n"), "{finished:?}");
            }
            finished.end
        }));
    }
    let mut ends = Vec::new();
    for run in running {
        ends.push(run.await.expect("no panic"));
    }
    ends
}

/// What could be left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    mounts: usize,
    /// Namespaces of descendants that this process is not in.
    namespaces: usize,
    groups: usize,
    temporary: usize,
    /// Descendants of this process, including zombies.
    children: usize,
    descriptors: usize,
}

fn counted() -> Counts {
    let mounts = fs::read_to_string("/proc/self/mountinfo")
        .expect("mounts")
        .lines()
        .count();
    let left = left_by(std::process::id());
    let temporary = left
        .iter()
        .filter(|path| path.starts_with(std::env::temp_dir()))
        .count();
    let groups = left.len() - temporary;
    let descriptors = fs::read_dir("/proc/self/fd").expect("descriptors").count();
    let descendants = descendants();
    let kinds = ["mnt", "net", "pid", "ipc", "uts", "user"];
    let namespace = |pid: &str, kind: &str| fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok();
    let mut namespaces = BTreeSet::new();
    for (pid, kind) in descendants
        .iter()
        .flat_map(|pid| kinds.map(|kind| (pid, kind)))
    {
        namespaces.extend(
            namespace(pid, kind).filter(|found| namespace("self", kind).as_ref() != Some(found)),
        );
    }
    let children = descendants.len();
    Counts {
        mounts,
        namespaces: namespaces.len(),
        groups,
        temporary,
        children,
        descriptors,
    }
}

/// All descendants of this process.
fn descendants() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut waiting = vec![std::process::id().to_string()];
    while let Some(pid) = waiting.pop() {
        for task in fs::read_dir(format!("/proc/{pid}/task"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children: Vec<String> = children.split_whitespace().map(str::to_owned).collect();
            waiting.extend(children.iter().cloned());
            all.extend(children);
        }
    }
    all
}

#[test]
fn a_deadline_counts_for_a_command_that_makes_folders_faster_than_they_are_read() {
    in_every_tier(|world| {
        // It records how long it lived, in a folder that existed before.
        let line = "python3 -c \"
import os, threading, time
born = time.time()
told = open('src/told', 'w')
def tell():
    while True:
        told.seek(0); told.write('%.3f\\n' % (time.time() - born)); told.flush(); time.sleep(0.05)
threading.Thread(target = tell, daemon = True).start()
os.chdir('src')
for _ in range(1500): os.mkdir('d'); os.chdir('d')
time.sleep(60)
\"";
        if !world.can_write() {
            return;
        }
        let lived = || -> f64 {
            let world = World::in_memory(world.sandbox.clone());
            let mut plan = world.plan.clone();
            plan.limits.deadline = Duration::from_millis(1500);
            let ran = world.shell_with(&plan, line);
            assert_eq!(ran.end, End::TimedOut, "{}", ran.stderr.text);
            let told = std::fs::read_to_string(world.ws("src/told")).expect("it told");
            told.trim().parse().expect("a number")
        };
        // A busy machine may be late a few times.
        let mut times = std::iter::repeat_with(lived).take(10);
        assert!(times.any(|lived| lived < 3.0), "it lived for too long");
    });
}
