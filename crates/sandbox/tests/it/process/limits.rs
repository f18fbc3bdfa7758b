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
