//! Commands cannot kill or starve their supervisor, or any other process.

use crate::process::world::{World, eventually, in_every_tier, in_time, mark, processes_with};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::process::{Command, CommandOutcome, End};
use tool_harness_sandbox::tier::Tier;

/// The most time after the deadline until no process is left.
const MARGIN: Duration = Duration::from_millis(250);

/// Runs a Python program; it must end in time and leave no process.
fn python(world: &World, deadline: Duration, mark: &str, text: &str) -> CommandOutcome {
    let mut plan = world.plan.clone();
    plan.limits.deadline = deadline;
    let text = text.replace("MARK", mark);
    in_time(deadline + MARGIN, || {
        let finished = world
            .run_with(&plan, Command::new("/usr/bin/python3", ["-c", &text]))
            .expect("ran");
        let left = processes_with(mark);
        assert!(left.is_empty(), "{left:?}");
        println!("{:?}: {}", finished.end, finished.stdout.text.trim());
        finished
    })
}

/// Leaves a process behind that is fully detached.
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
fn a_command_cannot_limit_its_helper() {
    in_every_tier(|world| {
        let attack = "
import resource
helper = os.getppid()
said = [tried(resource.prlimit, helper, limit, (0, 0)) for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)]
leave()
time.sleep(0.2)
print(*said, flush=True)
";
        let finished = python(
            world,
            Duration::from_secs(20),
            &mark(),
            &format!("{LEAVE}{attack}"),
        );
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::Exited(0), "refused refused refused\n"),
            "{}",
            finished.stderr.text
        );
        let finished = python(
            world,
            Duration::from_secs(2),
            &mark(),
            &format!("{LEAVE}{attack}\ntime.sleep(100)"),
        );
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::TimedOut, "refused refused refused\n"),
            "{}",
            finished.stderr.text
        );
        // A command may change its own limits, and read those of others.
        let harmless = "
import resource
resource.prlimit(0, resource.RLIMIT_NOFILE, (20, 20))
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)[0] > 20)
";
        let finished = python(
            world,
            Duration::from_secs(20),
            &mark(),
            &format!("{LEAVE}{harmless}"),
        );
        assert_eq!(
            finished.stdout.text, "20 True\n",
            "{}",
            finished.stderr.text
        );
        assert_eq!(world.says("ulimit -n 30 && ulimit -n"), "30\n");
    });
}

#[test]
fn a_command_cannot_delay_its_helper() {
    in_every_tier(|world| {
        let attack = "
import ctypes
helper, c = os.getppid(), ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if c.syscall(number, *[ctypes.c_long(a) for a in arguments]): raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
idle = os.sched_param(0)
said = [tried(*a) for a in (
    (os.sched_setscheduler, helper, os.SCHED_IDLE, idle), (os.sched_setparam, helper, idle), (os.sched_setaffinity, helper, {0}),
    (os.setpriority, os.PRIO_PROCESS, helper, 19), (os.setpriority, os.PRIO_USER, 0, 19), (os.setpriority, os.PRIO_USER, os.getuid(), 19),
    (call, IOPRIO, 1, helper, 3 << 13), (call, IOPRIO, 3, os.getuid(), 3 << 13), (call, MOVE, helper, 0, 0, 0, 0, 0))]
print(set(said), tried(call, ATTR, helper, 0, 0), flush=True)
for n in range(30):
    if os.fork() == 0:
        os.sched_setaffinity(0, {0})
        while True: 'MARK'
time.sleep(100)
"
        .replace("IOPRIO", &libc::SYS_ioprio_set.to_string())
        .replace("MOVE", &libc::SYS_move_pages.to_string())
        .replace("ATTR", &libc::SYS_sched_setattr.to_string());
        let finished = python(
            world,
            Duration::from_secs(1),
            &mark(),
            &format!("{LEAVE}{attack}"),
        );
        let said = "{'refused'} [Errno 38] Function not implemented\n";
        assert_eq!(
            (finished.end, finished.stdout.text.as_str()),
            (End::TimedOut, said),
            "{}",
            finished.stderr.text
        );
        // A command may change its own scheduling, and in namespaces also that of its children.
        let harmless = "
os.setpriority(os.PRIO_PROCESS, 0, 17); os.setpriority(os.PRIO_PGRP, 0, 18); os.sched_setaffinity(0, {0}); os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
child = os.fork()
if child == 0: time.sleep(100)
print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0), os.sched_getscheduler(0) == os.SCHED_BATCH, tried(os.setpriority, os.PRIO_PROCESS, child, 19))
";
        let finished = python(
            world,
            Duration::from_secs(20),
            &mark(),
            &format!("{LEAVE}{harmless}"),
        );
        let of_a_child = if world.tier() == Tier::A {
            "done"
        } else {
            "refused"
        };
        assert_eq!(
            finished.stdout.text,
            format!("18 {{0}} True {of_a_child}\n"),
            "{}",
            finished.stderr.text
        );
        let line = "[ $(nice -n 9 nice) -ge 9 ] && taskset -c 0 chrt -i 0 ionice -c 3 echo ran";
        assert_eq!(world.says(line), "ran\n");
    });
}

#[test]
fn a_command_may_use_the_processors_that_its_harness_may() {
    let allowed = |status: &str| {
        status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed_list"))
            .map(str::to_owned)
            .expect("a line")
    };
    in_every_tier(|world| {
        let ours = allowed(&fs::read_to_string("/proc/thread-self/status").expect("a status"));
        // Many at once, so that moving them to another processor is interrupted.
        std::thread::scope(|scope| {
            let crowd: Vec<_> = (0..16)
                .map(|_| {
                    scope.spawn(|| {
                        (0..6)
                            .map(|_| allowed(&world.says("cat /proc/self/status")))
                            .collect()
                    })
                })
                .collect();
            for said in crowd {
                let said: Vec<String> = said.join().expect("ran");
                assert!(said.iter().all(|said| *said == ours), "{said:?}");
            }
        });
        // With only one processor, nothing is moved.
        let said = std::thread::scope(|scope| {
            let on_one = scope.spawn(|| {
                let mut one = CpuSet::new();
                one.set(0);
                sched_setaffinity(None, &one).expect("one processor");
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                let cat = Command::new("/bin/cat", ["/proc/self/status"]);
                runtime
                    .block_on(
                        world
                            .sandbox
                            .run(&world.plan, cat, CancellationToken::new()),
                    )
                    .expect("ran")
                    .stdout
                    .text
            });
            on_one.join().expect("ran")
        });
        assert!(
            ["Cpus_allowed_list:\t0", &ours].contains(&allowed(&said).as_str()),
            "{said}"
        );
    });
}

#[test]
fn a_command_inherits_the_scheduling_class_of_its_harness() {
    let class = "import os; print(os.sched_getscheduler(0))";
    in_every_tier(|world| {
        for wanted in [libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE] {
            let said = std::thread::scope(|scope| {
                let patient = scope.spawn(|| {
                    let none = libc::sched_param { sched_priority: 0 };
                    // SAFETY: the parameter is valid, and it only affects this thread.
                    let set = unsafe { libc::sched_setscheduler(0, wanted, &raw const none) };
                    assert_eq!(set, 0);
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .expect("a runtime");
                    let python = Command::new("/usr/bin/python3", ["-c", class]);
                    runtime
                        .block_on(
                            world
                                .sandbox
                                .run(&world.plan, python, CancellationToken::new()),
                        )
                        .expect("ran")
                        .stdout
                        .text
                });
                patient.join().expect("ran")
            });
            assert_eq!(said, format!("{wanted}\n"));
        }
    });
}

#[test]
fn a_deadline_holds_though_every_processor_is_busy() {
    in_every_tier(|world| {
        for how in ["", "os.setsid()", "os.sched_setaffinity(0, {0})"] {
            let text = format!(
                "import os
for _ in range(16):
    if os.fork() == 0:
        {how}
        while True: 'MARK'
while True: 'MARK'"
            );
            let finished = python(world, Duration::from_millis(500), &mark(), &text);
            assert_eq!(
                finished.end,
                End::TimedOut,
                "{how} {}",
                finished.stderr.text
            );
        }
        // A command that is busy for a moment ends normally.
        assert_eq!(
            world.says(
                "for i in $(seq 20); do (for j in $(seq 1000); do :; done) & done; wait; echo done"
            ),
            "done\n"
        );
    });
}

/// The children of a process.
fn children(of: &str) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{of}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists =
        tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn killing_a_helper_ends_its_command() {
    in_every_tier(|world| {
        let mark = mark();
        // It ignores the death of its parent, and so does what it leaves.
        let text = format!(
            "{LEAVE}\nimport ctypes\nctypes.CDLL(None).prctl(1, 0)\nfor _ in range(3): leave()\nprint('MARK', flush=True)\ntime.sleep(100)"
        )
        .replace("MARK", &mark);
        let run = || {
            world
                .run_with(&world.plan, Command::new("/usr/bin/python3", ["-c", &text]))
                .expect("ran")
        };
        let finished = std::thread::scope(|scope| {
            let running = scope.spawn(run);
            assert!(
                eventually(Duration::from_secs(20), || processes_with(
                    &format!("sleep\0{mark}").replace('\0', " ")
                )
                .len()
                    >= 3),
                "it did not start"
            );
            let own = std::process::id().to_string();
            let is_command = |pid: &String| {
                fs::read_to_string(format!("/proc/{pid}/cmdline"))
                    .is_ok_and(|line| line.contains(&mark))
            };
            let helpers = children(&own)
                .into_iter()
                .flat_map(|outer| children(&outer));
            let helper = helpers
                .into_iter()
                .find(|inner| children(inner).iter().any(is_command))
                .expect("a helper");
            let ended = std::process::Command::new("kill")
                .args(["-9", &helper])
                .status()
                .expect("kill runs");
            assert!(ended.success());
            running.join().expect("no panic")
        });
        let left = processes_with(&mark);
        assert!(left.is_empty(), "{left:?}");
        assert_eq!(finished.end, End::Signalled(libc::SIGKILL));
    });
}

/// Smaller than the helper; takes memory that belongs to no process, and ignores the death of its
/// parent.
const TINY: &str = "static long sc(long n,long a,long b,long c,long d){long r;register long r10 asm(\"r10\")=d;asm volatile(\"syscall\":\"=a\"(r):\"a\"(n),\"D\"(a),\"S\"(b),\"d\"(c),\"r\"(r10):\"rcx\",\"r11\",\"memory\");return r;}
void _start(void){ sc(157,1,0,0,0); sc(112,0,0,0,0); long f[4]; for(int i=0;i<4;i++) f[i]=sc(319,(long)\"x\",0,0,0);
 for(int i=0;i<3;i++) sc(285,f[i],0,0,80L<<20);
 long pp=sc(110,0,0,0,0); for(long p=0;p<80L<<20;p+=4096) if(sc(285,f[3],0,p,4096)<0||sc(110,0,0,0,0)!=pp) break;
 for(int i=0;i<4;i++) sc(77,f[i],0,0,0);
 for(;;){ long ts[2]={1,0}; sc(35,(long)ts,0,0,0);} }";

#[test]
fn a_command_ends_with_a_helper_that_ran_out_of_memory() {
    if !cfg!(target_arch = "x86_64") {
        println!("skipped: no other architecture than x86-64");
        return;
    }
    in_every_tier(|world| {
        let program = world.ws(&format!("tiny{}", mark()));
        let source = world.beside("tiny.c");
        fs::write(&source, TINY).expect("a text");
        let arguments = [
            "-O1",
            "-w",
            "-static",
            "-nostdlib",
            "-fno-stack-protector",
            "-o",
        ];
        let made = std::process::Command::new("cc")
            .args(arguments)
            .arg(&program)
            .arg(&source)
            .status();
        if !made.is_ok_and(|made| made.success()) {
            println!("skipped: no compiler");
            return;
        }
        let mut plan = world.plan.clone();
        plan.limits.memory_bytes = 256 << 20;
        plan.limits.deadline = Duration::from_secs(2);
        let name = program.to_str().expect("a path");
        let finished = in_time(plan.limits.deadline + MARGIN, || {
            let finished = world
                .run_with(&plan, Command::new(name, [""; 0]))
                .expect("ran");
            let left = processes_with(name);
            assert!(left.is_empty(), "{left:?}");
            finished
        });
        println!("{:?}", finished.end);
        // With a higher limit the same program runs until its deadline.
        plan.limits.memory_bytes = 2 << 30;
        plan.limits.deadline = Duration::from_secs(1);
        assert_eq!(
            world
                .run_with(&plan, Command::new(name, [""; 0]))
                .expect("ran")
                .end,
            End::TimedOut
        );
    });
}

/// A process of the command's user, unrelated to the command.
fn bystander(mark: &str) -> Child {
    let mut sleep = std::process::Command::new("/bin/sleep");
    sleep.arg(mark).stdout(Stdio::null());
    if rustix::process::geteuid().is_root() {
        sleep.uid(65534).gid(65534);
    }
    sleep.spawn().expect("a process")
}

#[test]
fn a_command_changes_no_other_process() {
    let mut other = bystander(&mark());
    let pid = other.id();
    let facts = || {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).expect("limits");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("facts");
        let turns = fs::read_to_string(format!("/proc/{pid}/sched")).unwrap_or_default();
        let lines = |text: &str, start: &str| {
            text.lines()
                .filter(|line| line.starts_with(start))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        (
            limits,
            lines(&status, "Cpus_allowed"),
            lines(&turns, "policy"),
            lines(&turns, "prio"),
        )
    };
    let before = facts();
    in_every_tier(|world| {
        let attack = format!(
            "
import resource
said = [tried(*a) for a in (
    (resource.prlimit, {pid}, resource.RLIMIT_NOFILE, (0, 0)), (os.setpriority, os.PRIO_PROCESS, {pid}, 19), (os.sched_setaffinity, {pid}, {{0}}),
    (os.sched_setscheduler, {pid}, os.SCHED_IDLE, os.sched_param(0)), (os.kill, {pid}, 9))]
tried(os.setpriority, os.PRIO_USER, 0, 19)
print(*set(said))"
        );
        let finished = python(
            world,
            Duration::from_secs(20),
            &mark(),
            &format!("{LEAVE}{attack}"),
        );
        let said = if world.tier() == Tier::A {
            "[Errno 3] No such process\n"
        } else {
            "refused\n"
        };
        assert_eq!(finished.stdout.text, said, "{}", finished.stderr.text);
        assert_eq!(facts(), before);
    });
    other.kill().expect("ended");
    other.wait().expect("collected");
}
