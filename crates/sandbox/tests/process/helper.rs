//! Whoever ends a command is out of its reach, and so is everybody else.

use crate::world::{World, in_every_tier, processes_with};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tool_harness_sandbox::process::{Command, End, Finished};
use tool_harness_sandbox::tier::Tier;

/// What may pass after the deadline until nobody is left.
const MARGIN: Duration = Duration::from_millis(250);

/// Runs a program of Python's, and judges it from outside: in time, and nobody left.
fn python(world: &World, deadline: Duration, mark: &str, text: &str) -> Finished {
    let mut plan = world.plan.clone();
    plan.limits.deadline = deadline;
    let started = Instant::now();
    let text = text.replace("MARK", mark);
    let finished = world.run_with(&plan, Command::new("/usr/bin/python3", ["-c", &text])).expect("ran");
    let took = started.elapsed();
    let left = processes_with(mark);
    assert!(left.is_empty(), "{left:?}");
    assert!(took < deadline + MARGIN, "{took:?} {}", finished.stderr.text);
    println!("{:?} after {took:?}: {}", finished.end, finished.stdout.text.trim());
    finished
}

fn mark(n: u32) -> String {
    format!("{}{n}", 2000 + std::process::id())
}

/// Leaves a process behind that has nothing to do with it any more.
const LEAVE: &str = "
import os, time
def leave():
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        nothing = os.open('/dev/null', os.O_RDWR)
        for stream in (0, 1, 2): os.dup2(nothing, stream)
        os.execvp('sleep', ['sleep', 'MARK'])
def tried(what, *arguments):
    try: what(*arguments); return 'done'
    except PermissionError: return 'refused'
    except OSError as error: return str(error)
";

#[test]
fn a_command_takes_nothing_from_its_helper_by_limits() {
    in_every_tier(|world| {
        let attack = "
import resource
helper = os.getppid()
said = [tried(resource.prlimit, helper, limit, (0, 0)) for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)]
leave()
time.sleep(0.2)
print(*said, flush=True)
";
        let finished = python(world, Duration::from_secs(20), &mark(1), &format!("{LEAVE}{attack}"));
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "refused refused refused\n"),
            "{}",
            finished.stderr.text
        );
        let finished = python(world, Duration::from_secs(2), &mark(2), &format!("{LEAVE}{attack}\ntime.sleep(100)"));
        assert_eq!((finished.end, finished.stdout.text.as_str()), (End::TimedOut, "refused refused refused\n"), "{}", finished.stderr.text);
        // Its own limits are its own, and those of others can be seen.
        let harmless = "
import resource
resource.prlimit(0, resource.RLIMIT_NOFILE, (20, 20))
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)[0] > 20)
";
        let finished = python(world, Duration::from_secs(20), &mark(3), &format!("{LEAVE}{harmless}"));
        assert_eq!(finished.stdout.text, "20 True\n", "{}", finished.stderr.text);
        assert_eq!(world.says("ulimit -n 30 && ulimit -n"), "30\n");
    });
}

/// A process of the command's user that has nothing to do with the command.
fn bystander(mark: &str) -> Child {
    let mut sleep = std::process::Command::new("/bin/sleep");
    sleep.arg(mark).stdout(Stdio::null());
    if rustix::process::geteuid().is_root() {
        sleep.uid(65534).gid(65534);
    }
    sleep.spawn().expect("a process")
}

#[test]
fn a_command_changes_no_limits_of_other_processes() {
    let mut other = bystander(&mark(4));
    let pid = other.id();
    let limits = || fs::read_to_string(format!("/proc/{pid}/limits")).expect("limits");
    let before = limits();
    in_every_tier(|world| {
        let attack = format!("import resource\nprint(tried(resource.prlimit, {pid}, resource.RLIMIT_NOFILE, (0, 0)))");
        let finished = python(world, Duration::from_secs(20), &mark(5), &format!("{LEAVE}{attack}"));
        let said = if world.tier() == Tier::A { "[Errno 3] No such process\n" } else { "refused\n" };
        assert_eq!(finished.stdout.text, said);
        assert_eq!(limits(), before);
    });
    other.kill().expect("ended");
    other.wait().expect("collected");
}
