//! What a command may use.

use crate::process::world::{
    in_every_tier, in_every_tier_in_turn, in_tier, in_time, mark, processes_with,
};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tool_harness_sandbox::process::End;
use tool_harness_sandbox::tier::{Mechanism, Tier};

#[test]
fn a_fork_bomb_is_bounded_and_leaves_nothing() {
    in_every_tier_in_turn(|world| {
        let mut plan = world.plan.clone();
        plan.limits.deadline = Duration::from_millis(500);
        plan.limits.processes = 40;
        let mark = format!("bomb{}", mark());
        let line = format!("{mark}() {{ {mark} | {mark} & }}; {mark}; sleep 100");
        in_time(Duration::from_secs(2), || {
            assert_ne!(world.shell_with(&plan, &line).end, End::Exited(0));
            assert!(
                processes_with(&mark).is_empty(),
                "{:?}",
                processes_with(&mark)
            );
        });
        plan.limits.deadline = world.plan.limits.deadline;
        assert_eq!(world.shell_with(&plan, &threads(20)).stdout.text, "fine\n");
        assert_ne!(world.shell_with(&plan, &threads(200)).stdout.text, "fine\n");
    });
}

/// This many threads at once: each waits until all have started.
fn threads(count: usize) -> String {
    format!(
        "python3 -c \"import threading\nall = threading.Event()\n\
         ts = [threading.Thread(target=all.wait, daemon=True) for _ in range({count})]\n\
         for t in ts: t.start()\nall.set()\nfor t in ts: t.join()\nprint('fine')\""
    )
}

#[test]
fn other_processes_of_the_user_do_not_change_a_commands_process_limit() {
    in_every_tier_in_turn(|world| {
        let mut plan = world.plan.clone();
        plan.limits.processes = 40;
        let is_fine =
            |count: usize| world.shell_with(&plan, &threads(count)).stdout.text == "fine\n";
        assert!(is_fine(20));
        // More than the command may have, started after its user's processes were first counted.
        let sleep = || {
            Command::new("sleep")
                .arg("100")
                .stdin(Stdio::null())
                .spawn()
                .expect("it starts")
        };
        let mut others: Vec<Child> = (0..60).map(|_| sleep()).collect();
        assert!(is_fine(20) && is_fine(20));
        others
            .iter_mut()
            .for_each(|other| drop((other.kill(), other.wait())));
        // As many as it could have if those were still counted.
        assert!(!is_fine(80));
    });
}

#[test]
fn memory_is_bounded() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        plan.limits.memory_bytes = 256 << 20;
        let take = |bytes: u64| format!("python3 -c \"b = bytearray({bytes}); print(len(b))\"");
        let finished = world.shell_with(&plan, &take(10 << 30));
        assert_ne!(finished.end, End::Exited(0), "{:?}", finished.enforced);
        let finished = world.shell_with(&plan, &take(64 << 20));
        assert_eq!(finished.end, End::Exited(0), "{}", finished.stderr.text);
        let finished = world.shell_with(&plan, &format!("exec {}", take(1 << 30)));
        if finished.enforced.memory == Mechanism::Rlimit {
            assert_ne!(finished.end, End::Exited(0));
        } else {
            assert_eq!(finished.end, End::OutOfMemory);
            assert!(
                finished
                    .denials
                    .iter()
                    .any(|denial| denial.what == "memory"),
                "{:?}",
                finished.denials
            );
        }
    });
}

#[test]
fn processor_time_is_bounded() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        plan.limits.cpu = Duration::from_secs(1);
        let finished = in_time(Duration::from_secs(20), || {
            world.shell_with(&plan, "exec python3 -c 'while True: pass'")
        });
        assert!(
            matches!(finished.end, End::OutOfTime | End::Signalled(_)),
            "{:?}",
            finished.end
        );
    });
}

#[test]
fn files_and_the_private_tmp_are_bounded() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        plan.limits.file_bytes = 8 << 20;
        plan.limits.tmp_bytes = 16 << 20;
        let tmp = "${TMPDIR:-/tmp}";
        assert_ne!(
            world
                .shell_with(&plan, &format!("head -c 9M /dev/zero > {tmp}/x"))
                .end,
            End::Exited(0)
        );
        assert_eq!(
            world
                .shell_with(&plan, &format!("head -c 7M /dev/zero > {tmp}/x"))
                .end,
            End::Exited(0)
        );
    });
    in_tier(Tier::A, |world| {
        let mut plan = world.plan.clone();
        plan.limits.tmp_bytes = 16 << 20;
        let finished = world.shell_with(
            &plan,
            "for i in 1 2 3; do head -c 7M /dev/zero > /tmp/$i || exit 1; done",
        );
        assert_eq!(finished.end, End::Exited(1), "{}", finished.stderr.text);
        assert_eq!(finished.enforced.tmp, Mechanism::Tmpfs);
        assert_ne!(
            world
                .shell_with(&plan, "head -c 20M /dev/zero > /dev/shm/x")
                .end,
            End::Exited(0)
        );
    });
}

/// Makes this many files of one byte, or empty ones, in each of these folders, and says how many it
/// could make.
fn files(count: usize, text: &str, folders: &[&str]) -> String {
    format!(
        "python3 -c \"import os, sys\nmade = 0\ntry:\n  for folder in sys.argv[1:]:\n    for i in range({count}):\n\
         \u{20}     with open(f'{{folder}}/{{i}}', 'w') as f: f.write('{text}')\n      made += 1\n\
         except OSError as e: print(e.strerror)\nprint(made)\" {}",
        folders.join(" ")
    )
}

#[test]
fn empty_files_in_private_folders_are_bounded_and_fifty_thousand_small_ones_are_not() {
    in_tier(Tier::A, |world| {
        let mut plan = world.plan.clone();
        plan.limits.tmp_bytes = 8 << 20;
        for folder in ["/tmp", "/var/tmp", "/dev/shm"] {
            // Each of them takes kernel memory and no page.
            let finished = world.shell_with(&plan, &files(5000, "", &[folder]));
            let said: Vec<&str> = finished.stdout.text.lines().collect();
            let ["No space left on device", made] = said[..] else {
                panic!("{folder}: {said:?} {}", finished.stderr.text)
            };
            let made: u64 = made.parse().expect("a number");
            assert!((1500..=2048).contains(&made), "{folder}: {made}");
        }
        // Links and folders are files, too.
        let links = "cd /tmp && for i in $(seq 3000); do ln -s x $i || exit 9; done";
        assert_eq!(world.shell_with(&plan, links).end, End::Exited(9));
        // Until a folder is full of pages, it takes files.
        let finished = world.shell_with(&plan, &files(1500, "x", &["/tmp"]));
        assert_eq!(finished.stdout.text, "1500\n", "{}", finished.stderr.text);
    });
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        plan.limits.tmp_bytes = 1 << 30;
        let line = files(50_000, "x", &["${TMPDIR:-/tmp}"]);
        let finished = world.shell_with(&plan, &line);
        assert_eq!(finished.stdout.text, "50000\n", "{}", finished.stderr.text);
    });
}

/// A limit of this machine's for each of its users.
fn watch_limit(what: &str) -> u64 {
    let read = |file: String| -> u64 {
        let text = std::fs::read_to_string(file).expect("a setting");
        text.trim().parse().expect("a number")
    };
    read(format!("/proc/sys/user/max_inotify_{what}"))
        .min(read(format!("/proc/sys/fs/inotify/max_user_{what}")))
}

#[test]
fn a_command_takes_a_part_of_its_users_watches_and_file_watchers_work() {
    const TAKES: &str = "
import ctypes
libc, kept = ctypes.CDLL(None), 0
while libc.inotify_init1(0) >= 0:
    kept += 1
print(kept)
";
    const WATCHES: &str = "
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
watcher = libc.inotify_init1(0)
os.makedirs(sys.argv[1], exist_ok=True)
assert libc.inotify_add_watch(watcher, sys.argv[1].encode(), 0x100) >= 0
open(sys.argv[1] + '/appears', 'w').close()
event = os.read(watcher, 4096)
length = struct.unpack_from('iIII', event)[3]
print(event[16:16 + length].rstrip(bytes(1)).decode())
";
    in_every_tier(|world| {
        let seen = world.says(&format!(
            "python3 -c \"{WATCHES}\" ${{TMPDIR:-/tmp}}/watched"
        ));
        assert_eq!(seen, "appears\n");
        // Without a namespace nothing counts what one command takes.
        if world.tier() == Tier::A {
            let kept = world.says(&format!("python3 -c \"{TAKES}\""));
            let kept: u64 = kept.trim().parse().expect("a number");
            let all = watch_limit("instances");
            assert!((1..=all / 4).contains(&kept), "{kept} of {all}");
            let most = world.says("cat /proc/sys/user/max_inotify_watches");
            let most: u64 = most.trim().parse().expect("a number");
            assert_eq!(most, watch_limit("watches") / 2);
            for what in ["instances", "watches"] {
                world.refuses(&format!("echo 100000 > /proc/sys/user/max_inotify_{what}"));
            }
        }
    });
}
