//! Commands that use up everything they can: they get an error, and the harness's own memory hardly
//! grows.

use crate::process::world::{
    World, eventually, in_every_tier, in_every_tier_in_turn, in_own_process, in_time, mark,
    processes_with, runtime,
};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{Command, End, Sandbox};
use tool_harness_sandbox::tier::Tier;

/// Takes memory that a child would share.
const SHARED: &str = "import mmap, os, time
def take(bytes):
  m = mmap.mmap(-1, bytes)
  for at in range(0, bytes, 4096): m[at] = 1
  return m
";
const MOST_GROWTH: u64 = 64 << 20;

#[test]
fn whatever_a_command_takes_the_harness_goes_on_and_hardly_grows() {
    in_own_process("process::exhaust::whatever_a_command_takes_alone");
}

#[test]
#[ignore = "started by the test above"]
fn whatever_a_command_takes_alone() {
    in_every_tier_in_turn(|world| {
        let mark = format!("glutton{}", mark());
        let mut plan = world.plan.clone();
        plan.limits.deadline = Duration::from_secs(20);
        plan.limits.memory_bytes = 256 << 20;
        plan.limits.processes = 64;
        plan.limits.tmp_bytes = 32 << 20;
        plan.limits.file_bytes = 64 << 20;
        let mut hungry = vec![
            ("a flood", "head -c 10G /dev/zero".to_owned()),
            ("a flood of lines", "yes".to_owned()),
            ("memory", "exec python3 -c 'b = bytearray(10 << 30); print(len(b))'".to_owned()),
            ("memory in many pieces", "exec python3 -c \"l = []\nwhile True: l.append(bytearray(1 << 20))\"".to_owned()),
            ("memory that is shared", format!("exec python3 -c \"{SHARED}take(10 << 30)\"")),
            ("memory shared by many", format!("exec python3 -c \"{SHARED}\nfor _ in range(50):\n  if os.fork() == 0: take(200 << 20); time.sleep(2); os._exit(0)\nos._exit(any(os.wait()[1] for _ in range(50)))\"")),
            ("files in memory", "exec python3 -c \"import os\nl = []\nwhile True:\n  l.append(os.memfd_create('x'))\n  for _ in range(50): os.write(l[-1], bytes(1 << 20))\"".to_owned()),
            ("a large file", "head -c 10G /dev/zero > ${TMPDIR:-/tmp}/full".to_owned()),
        ];
        if world.tier() == Tier::A {
            let fill =
                "for i in 1 2 3 4 5 6 7 8; do head -c 8M /dev/zero > /tmp/$i || exit 9; done"
                    .to_owned();
            hungry.push(("a full /tmp", fill));
        }
        serves(world);
        let before = peak();
        for (what, line) in hungry {
            let finished = world.shell_with(&plan, &line);
            println!("{what}: {:?}, {:?}", finished.end, finished.duration);
            assert_ne!(finished.end, End::Exited(0), "{what}");
            assert!(finished.stdout.text.len() < 128 << 10, "{what}");
            serves(world);
        }
        plan.limits.deadline = Duration::from_millis(700);
        in_time(Duration::from_secs(2), || {
            let finished = world.shell_with(
                &plan,
                &format!("{mark}() {{ {mark} | {mark} & }}; {mark}; exec sleep 100"),
            );
            assert_ne!(finished.end, End::Exited(0));
            assert!(
                processes_with(&mark).is_empty(),
                "{:?}",
                processes_with(&mark)
            );
        });
        serves(world);
        let grown = peak().saturating_sub(before);
        println!("the harness's memory grew by {} KiB at most", grown >> 10);
        assert!(grown < MOST_GROWTH, "grew by {grown}");
    });
}

#[test]
fn memory_that_is_shared_is_counted_once() {
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        plan.limits.memory_bytes = 256 << 20;
        // Six processes touch the same 150 MB for longer than the sampling interval.
        let line = format!(
            "exec python3 -c \"{SHARED}m = take(150 << 20)\nfor _ in range(5):\n  if os.fork() == 0:\n    for at in range(0, len(m), 4096): m[at]\n    time.sleep(1); os._exit(0)\nfor _ in range(5): os.wait()\nprint('fine')\""
        );
        let finished = world.shell_with(&plan, &line);
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "fine\n"),
            "{}",
            finished.stderr.text
        );
    });
}

#[test]
fn memory_of_every_kind_counts_together_and_what_is_mapped_counts_once() {
    const TAKE: &str = "import mmap, os, time
def file(bytes, path=None):
  fd = os.memfd_create('x') if path is None else os.open(path, os.O_CREAT | os.O_RDWR)
  for _ in range(bytes >> 20): os.write(fd, bytearray(1 << 20))
  return fd
";
    in_every_tier(|world| {
        let mut plan = world.plan.clone();
        (plan.limits.memory_bytes, plan.limits.tmp_bytes) = (256 << 20, 200 << 20);
        let python =
            |what: &str| format!("exec python3 -c \"{TAKE}{what}\ntime.sleep(2); print('fine')\"");
        let mut much = vec!["a = bytearray(b'x') * (150 << 20)\nb = file(150 << 20)"];
        if world.tier() == Tier::A {
            much.push("a = bytearray(b'x') * (150 << 20)\nb = file(150 << 20, '/tmp/x')");
            much.push("a = file(150 << 20)\nb = file(150 << 20, '/tmp/x')");
        }
        std::thread::scope(|scope| {
            for what in much {
                let (plan, line) = (&plan, python(what));
                scope.spawn(move || {
                    let finished = world.shell_with(plan, &line);
                    assert_ne!(finished.stdout.text, "fine\n", "{what}");
                });
            }
        });
        let mapped =
            "m = mmap.mmap(file(150 << 20), 150 << 20)\nfor at in range(0, len(m), 4096): m[at]";
        let finished = world.shell_with(&plan, &python(mapped));
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "fine\n"),
            "{}",
            finished.stderr.text
        );
    });
}

/// Another command works as usual.
fn serves(world: &World) {
    assert_eq!(world.says("echo served"), "served\n");
}

/// The peak memory of this process.
fn peak() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("facts");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a line");
    line.trim()
        .trim_end_matches(" kB")
        .parse::<u64>()
        .expect("a number")
        << 10
}

#[test]
fn descriptors_in_flight_do_not_block_other_calls() {
    // Keeps as many descriptors in flight as it may, and then says so. The kernel counts them per
    // user.
    const PARKS: &str = "
import array, os, resource, socket, time
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
null, keep = os.open('/dev/null', os.O_RDONLY), []
try:
    for _ in range(min(most, 200000) // 250 + 2):
        keep.append(socket.socketpair())
        keep[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 250))])
except OSError as error:
    print(error)
open('src/parked', 'w').close()
time.sleep(60)
";
    in_every_tier(|world| {
        if !world.can_write() {
            return;
        }
        let mut plan = world.plan.clone();
        plan.limits.deadline = Duration::from_secs(3);
        let cancel = CancellationToken::new();
        std::thread::scope(|scope| {
            let stop = cancel.clone();
            let parks = scope.spawn(|| {
                let command = Command::new("/usr/bin/python3", ["-c", PARKS]);
                runtime().block_on(world.sandbox.run(&world.plan, command, stop))
            });
            assert!(
                eventually(Duration::from_secs(20), || world.ws("src/parked").exists()),
                "it did not park them"
            );
            for _ in 0..3 {
                in_time(Duration::from_secs(3), || {
                    assert_eq!(world.shell_with(&plan, "echo ran").stdout.text, "ran\n")
                });
            }
            assert_eq!(
                Sandbox::with_tier(world.tier()).tier(),
                world.tier(),
                "nor is anybody contained less for it"
            );
            cancel.cancel();
            assert_eq!(
                parks.join().expect("no panic").expect("it ran").end,
                End::Cancelled
            );
        });
    });
}
