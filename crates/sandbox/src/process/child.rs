//! Starting a process with only the descriptors it is given, and reaping it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, fcntl_dupfd_cloexec};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, WaitOptions, kill_process,
    pidfd_open, waitid, waitpid,
};
use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// A child of this process.
#[derive(Debug)]
pub(super) struct ChildProcess {
    pub(super) pid: libc::pid_t,
    pub(super) pidfd: OwnedFd,
}

impl ChildProcess {
    /// Starts a program with an empty environment, in `/`, in a session of its own. It has these
    /// descriptors, numbered from 0, and no others.
    pub(super) fn new(
        program: &CStr,
        words: &[&CStr],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<Self> {
        let (_copies, numbers) = move_above(descriptors)?;
        let spawn = SpawnAttributes::new(&numbers)?;
        let mut argv: Vec<*mut libc::c_char> =
            words.iter().map(|word| word.as_ptr().cast_mut()).collect();
        argv.push(ptr::null_mut());
        let environment: [*mut libc::c_char; 1] = [ptr::null_mut()];
        let mut pid = 0;
        // SAFETY: every pointer points to a live object; both lists end with null; the strings
        // outlive the call.
        let code = unsafe {
            libc::posix_spawn(
                &raw mut pid,
                program.as_ptr(),
                &raw const spawn.actions,
                &raw const spawn.attributes,
                argv.as_ptr(),
                environment.as_ptr(),
            )
        };
        check(code)?;
        Self::of_child(pid)
    }

    /// A child that was started in another way. Kills it if it cannot be watched.
    pub(super) fn of_child(pid: libc::pid_t) -> io::Result<Self> {
        let child = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        match pidfd_open(child, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd }),
            Err(cause) => {
                // It is not reaped yet, so the number is still its own.
                let _ = kill_process(child, Signal::KILL);
                let _ = waitpid(Some(child), WaitOptions::empty());
                Err(cause.into())
            }
        }
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        // It can only fail if the process is gone already.
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }

    /// How it ended, if it has. After that it is reaped, and must not be asked again.
    pub(super) fn collect(&self) -> Option<ChildExit> {
        match waitid(
            WaitId::PidFd(self.pidfd.as_fd()),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        ) {
            Ok(None) | Err(Errno::INTR) => None,
            Ok(Some(status)) => Some(ChildExit::Status(status)),
            Err(_) => Some(ChildExit::Lost),
        }
    }

    /// Waits until it ends, or this long; a signal may cut the wait short.
    pub(super) fn wait(&self, time: Duration) {
        let _ = wait_readable(&self.pidfd, time);
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum ChildExit {
    /// With this status.
    Status(WaitIdStatus),
    /// Other code reaped it.
    Lost,
}

/// Waits until a descriptor is readable, at most this long; returns whether it is.
pub(super) fn wait_readable(descriptor: impl AsFd, time: Duration) -> Result<bool, Errno> {
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    };
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut polled, Some(&time)).map(|count| count > 0)
}

/// The numbers of descriptors that a new process gets as 0, 1, 2 and so on: all above those
/// numbers, so that no copy overwrites one that is still needed. Also the copies this takes.
pub(super) fn move_above(descriptors: &[BorrowedFd<'_>]) -> io::Result<(Vec<OwnedFd>, Vec<i32>)> {
    let above = i32::try_from(descriptors.len()).unwrap_or(i32::MAX);
    let (mut copies, mut numbers) = (Vec::new(), Vec::new());
    for descriptor in descriptors {
        let mut number = descriptor.as_raw_fd();
        if number < above {
            let copy = fcntl_dupfd_cloexec(descriptor, above)?;
            number = copy.as_raw_fd();
            copies.push(copy);
        }
        numbers.push(number);
    }
    Ok((copies, numbers))
}

/// `/dev/null`, opened once.
pub(super) fn null() -> io::Result<&'static File> {
    static NULL: OnceLock<Result<File, i32>> = OnceLock::new();
    opened_once(&NULL, || {
        OpenOptions::new().read(true).write(true).open("/dev/null")
    })
}

/// A file that is opened once per process.
pub(super) fn opened_once(
    place: &'static OnceLock<Result<File, i32>>,
    make: fn() -> io::Result<File>,
) -> io::Result<&'static File> {
    let made =
        place.get_or_init(|| make().map_err(|cause| cause.raw_os_error().unwrap_or(libc::EIO)));
    made.as_ref()
        .map_err(|code| io::Error::from_raw_os_error(*code))
}

/// The two attribute objects of a spawn, which must be destroyed on every path.
struct SpawnAttributes {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
}

impl SpawnAttributes {
    fn new(descriptors: &[i32]) -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: both calls initialise the object they are given; a failure leaves only the first
        // to destroy.
        let mut spawn = unsafe {
            check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            let mut actions = actions.assume_init();
            if let Err(cause) = check(libc::posix_spawnattr_init(attributes.as_mut_ptr())) {
                libc::posix_spawn_file_actions_destroy(&raw mut actions);
                return Err(cause);
            }
            Self {
                actions,
                attributes: attributes.assume_init(),
            }
        };
        spawn.describe(descriptors)?;
        Ok(spawn)
    }

    fn describe(&mut self, descriptors: &[i32]) -> io::Result<()> {
        let (actions, attributes) = (&raw mut self.actions, &raw mut self.attributes);
        let mut signals = MaybeUninit::uninit();
        // SAFETY: both objects are initialised, the descriptors are open, the path is a constant,
        // and the set is filled before it is read.
        unsafe {
            let mut next = 0;
            // The copies lack the close-on-exec flag; everything after them is closed.
            for descriptor in descriptors {
                check(libc::posix_spawn_file_actions_adddup2(
                    actions,
                    *descriptor,
                    next,
                ))?;
                next += 1;
            }
            check(libc::posix_spawn_file_actions_addclosefrom_np(
                actions, next,
            ))?;
            check(libc::posix_spawn_file_actions_addchdir_np(
                actions,
                c"/".as_ptr(),
            ))?;
            libc::sigemptyset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigmask(
                attributes,
                signals.as_ptr(),
            ))?;
            libc::sigfillset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigdefault(
                attributes,
                signals.as_ptr(),
            ))?;
            let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
            // A session of its own, so that a terminal's interrupt key reaches only the harness.
            check(libc::posix_spawnattr_setflags(
                attributes,
                libc::c_short::try_from(flags).unwrap_or_default() | libc::POSIX_SPAWN_SETSID,
            ))
        }
    }
}

impl Drop for SpawnAttributes {
    fn drop(&mut self) {
        // SAFETY: both were initialised when this was made, and nothing uses them any more.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&raw mut self.actions);
            libc::posix_spawnattr_destroy(&raw mut self.attributes);
        }
    }
}

/// These functions return an error number instead of setting it.
fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(code))
    }
}
