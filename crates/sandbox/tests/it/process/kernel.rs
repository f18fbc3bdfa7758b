//! Ways into the kernel and into other processes.

use crate::process::world::{in_every_tier, in_tier, mark, processes_with};
use tool_harness_sandbox::process::End;
use tool_harness_sandbox::tier::Tier;

/// Makes one system call by number and prints the result and the error.
fn call(number: i64, args: &[i64]) -> String {
    let args: Vec<String> = args
        .iter()
        .map(|arg| format!("ctypes.c_long({arg})"))
        .collect();
    let list = std::iter::once(number.to_string())
        .chain(args)
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "python3 -c \"import ctypes, os; l = ctypes.CDLL(None, use_errno=True); r = l.syscall({list}); print(r, ctypes.get_errno())\""
    )
}

#[test]
fn calls_that_reach_past_the_sandbox_are_refused_and_plain_ones_are_not() {
    in_every_tier(|world| {
        for (name, number, args) in [
            ("ptrace", libc::SYS_ptrace, &[16, 1, 0, 0][..]),
            ("bpf", libc::SYS_bpf, &[0, 0, 0]),
            (
                "perf_event_open",
                libc::SYS_perf_event_open,
                &[0, 0, 0, 0, 0],
            ),
            ("userfaultfd", libc::SYS_userfaultfd, &[0]),
            ("io_uring_setup", libc::SYS_io_uring_setup, &[1, 0]),
            ("keyctl", libc::SYS_keyctl, &[0, -3, 0]),
            ("unshare", libc::SYS_unshare, &[0x1000_0000]),
            ("setns", libc::SYS_setns, &[0, 0]),
            ("mount", libc::SYS_mount, &[0, 0, 0, 0, 0]),
            ("open_tree", libc::SYS_open_tree, &[0, 0, 0]),
            ("pidfd_getfd", libc::SYS_pidfd_getfd, &[0, 0, 0]),
            (
                "process_vm_readv",
                libc::SYS_process_vm_readv,
                &[1, 0, 0, 0, 0, 0],
            ),
            ("chroot", libc::SYS_chroot, &[0]),
            (
                "clone with a namespace",
                libc::SYS_clone,
                &[0x1000_0011, 0, 0, 0, 0],
            ),
            ("TIOCSTI", libc::SYS_ioctl, &[0, 0x5412, 0]),
            ("kexec_load", libc::SYS_kexec_load, &[0, 0, 0, 0]),
        ] {
            assert_eq!(world.says(&call(number, args)).trim(), "-1 1", "{name}");
        }
        assert_eq!(world.says(&call(libc::SYS_clone3, &[0, 0])).trim(), "-1 38");
        assert!(!world.says(&call(libc::SYS_getpid, &[])).starts_with("-1"));
    });
}

#[test]
fn shared_memory_of_other_programs_is_out_of_reach_and_none_is_left_behind() {
    // The size identifies segments of this process.
    let bytes = 4096 + i64::from(std::process::id());
    let left = || {
        let all = std::fs::read_to_string("/proc/sysvipc/shm").expect("a list");
        let size = |line: &str| line.split_whitespace().nth(3)?.parse().ok();
        all.lines().filter(|line| size(line) == Some(bytes)).count()
    };
    let key = 0x4841_0000 + i32::try_from(std::process::id() & 0xffff).expect("a number");
    // SAFETY: takes no pointers.
    let segment = unsafe { libc::shmget(key, 4096, libc::IPC_CREAT | 0o666) };
    assert!(segment >= 0, "{}", std::io::Error::last_os_error());
    in_every_tier(|world| {
        let found = world.says(&call(libc::SYS_shmget, &[key.into(), 4096, 0]));
        assert!(found.starts_with("-1"), "{found}");
        let made = world.says(&call(libc::SYS_shmget, &[0, bytes, 0o1600]));
        assert_eq!(made.starts_with("-1"), world.tier() == Tier::B, "{made}");
        assert_eq!(left(), 0);
    });
    // SAFETY: removes the segment made above; no description is requested.
    unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
}

#[test]
fn processes_outside_are_not_signalled_read_or_traced() {
    let mark = mark();
    let mut other = std::process::Command::new("/bin/sleep")
        .arg(&mark)
        .env("SECRET", "canary")
        .spawn()
        .expect("a process");
    let pid = other.id();
    in_every_tier(|world| {
        for line in [
            format!("kill -9 {pid}"),
            format!("cat /proc/{pid}/environ | grep -a canary"),
            format!("ls /proc/{pid}/fd/0"),
            format!("cat /proc/{pid}/root/etc/passwd"),
        ] {
            assert_ne!(world.shell(&line).end, End::Exited(0), "{line}");
        }
        let own = std::process::id();
        assert_ne!(
            world
                .shell(&format!("kill -9 {own} || kill -TERM -1 || exit 1; exit 1"))
                .end,
            End::Exited(0)
        );
        assert!(other_is_alive(&mark), "the other process is gone");
        world.says("sleep 100 & kill $!; wait $!; [ $? = 143 ]");
    });
    other.kill().expect("ended");
    other.wait().expect("collected");
}

fn other_is_alive(mark: &str) -> bool {
    !processes_with(mark).is_empty()
}

#[test]
fn the_first_process_cannot_be_used_and_proc_is_its_own() {
    in_tier(Tier::A, |world| {
        for line in [
            "cat /proc/1/environ",
            "ls /proc/1/fd",
            "readlink /proc/1/exe",
            "cat /proc/1/root/etc/shadow",
            "echo 1 > /proc/sys/kernel/panic",
            "echo x > /proc/sysrq-trigger",
        ] {
            assert_ne!(world.shell(line).end, End::Exited(0), "{line}");
        }
        // It ignores signals from its children; the command continues.
        assert_eq!(
            world.says("kill -9 1 2>/dev/null; kill -TERM 1 2>/dev/null; echo on"),
            "on\n"
        );
    });
}
