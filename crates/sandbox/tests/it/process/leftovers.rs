//! A program leaves nothing on the machine when it ends, and what others left delays no call.

use crate::process::life::left_by;
use crate::process::world::{World, eventually, in_every_tier, in_tier};
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tool_harness_sandbox::process::{Sandbox, announce_last_call, wait_for_cleanup};
use tool_harness_sandbox::tier::Tier;

/// How long a program waits for its cleanup: longer than a busy machine needs, or too short for
/// much of it.
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(500);
const MANY: usize = 20_000;

/// Starts a program that runs one command, and exits.
fn program(tier: Tier, line: &str, deadline_ms: u32, cleanup: Duration) -> Child {
    let mut program = std::process::Command::new(std::env::current_exe().expect("this program"));
    program.args([
        "--exact",
        "process::leftovers::as_a_program_that_runs_one_command",
        "--ignored",
        "--nocapture",
    ]);
    program
        .env("TIER", tier.to_string())
        .env("LINE", line)
        .env("DEADLINE", deadline_ms.to_string())
        .env("CLEANUP", cleanup.as_millis().to_string());
    program
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

#[test]
#[ignore = "started by the tests below"]
fn as_a_program_that_runs_one_command() {
    let set = |name: &str| std::env::var(name).expect("set");
    let world = World::new(Sandbox::with_tier(if set("TIER") == "A" {
        Tier::A
    } else {
        Tier::B
    }));
    let mut plan = world.plan.clone();
    let millis = |name: &str| Duration::from_millis(set(name).parse().expect("a number"));
    plan.limits.deadline = millis("DEADLINE");
    announce_last_call();
    world.shell_with(&plan, &set("LINE"));
    drop(world);
    wait_for_cleanup(millis("CLEANUP"));
}

#[test]
fn a_program_that_ends_leaves_no_folder_and_no_group() {
    in_every_tier(|world| {
        for (line, deadline_ms) in [
            ("touch ${TMPDIR:-/tmp}/x", 60_000),
            ("touch ${TMPDIR:-/tmp}/x; sleep 100", 300),
        ] {
            let programs: Vec<Child> = (0..20)
                .map(|_| program(world.tier(), line, deadline_ms, LONG))
                .collect();
            for mut program in programs {
                assert!(program.wait().expect("it ends").success(), "{line}");
                assert!(
                    left_by(program.id()).is_empty(),
                    "{line}: {:?}",
                    left_by(program.id())
                );
            }
        }
    });
}

#[test]
fn a_large_leftover_folder_is_removed_after_the_program_exits() {
    in_every_tier(|world| {
        let fill = format!(
            "cd ${{TMPDIR:-/tmp}} && python3 -c 'for n in range({MANY}): open(str(n), \"w\").close()'"
        );
        let mut filler = program(world.tier(), &fill, 60_000, SHORT);
        assert!(filler.wait().expect("it ends").success());
        let is_gone = || left_by(filler.id()).is_empty();
        assert!(
            eventually(Duration::from_secs(30), is_gone),
            "{:?}",
            left_by(filler.id())
        );
    });
}

#[test]
fn leftovers_of_other_harnesses_delay_no_call() {
    // Every sandbox removes it in the same way, whatever its tier.
    in_tier(Sandbox::detect().tier(), |world| {
        // Of a process that cannot exist.
        let id = 2_000_000_000 + std::process::id() % 1_000_000;
        let first_call = || {
            let started = Instant::now();
            let other = World::new(Sandbox::with_tier(world.tier()));
            assert_eq!(other.says("echo ran"), "ran\n");
            started.elapsed()
        };
        let usual = first_call();
        // It gets its name when it is full: another harness may find it.
        let (made, left) = (format!("made-{id}"), format!("harness-call-{id}-0"));
        let [made, left] = [made, left].map(|name| std::env::temp_dir().join(name));
        fs::create_dir_all(made.join("tmp")).expect("a folder");
        (0..MANY)
            .for_each(|n| fs::write(made.join("tmp").join(n.to_string()), "").expect("a file"));
        fs::rename(&made, &left).expect("renamed");
        let took = first_call();
        // A call that waited for the removal would find it gone, and take longer.
        assert!(
            left.exists() || took < usual * 4 + Duration::from_millis(500),
            "{took:?} instead of {usual:?}"
        );
        assert!(
            eventually(Duration::from_secs(30), || left_by(id).is_empty()),
            "{:?}",
            left_by(id)
        );
    });
}
