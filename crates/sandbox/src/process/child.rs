//! Starting a process that has what it is given and nothing else, and collecting it.

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
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

/// A process of ours.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: libc::pid_t,
    pub(super) pidfd: OwnedFd,
}

impl Started {
    /// Starts a program with an empty environment, in `/`, in a session of its own. It has these descriptors, numbered from 0, and no others.
    pub(super) fn new(
        program: &CStr,
        words: &[&CStr],
        given: &[BorrowedFd<'_>],
    ) -> io::Result<Self> {
        // Above every number they will get, so that no copy overwrites one that is still needed.
        let above = i32::try_from(given.len()).unwrap_or(i32::MAX);
        let mut moved: Vec<Option<OwnedFd>> = Vec::with_capacity(given.len());
        for end in given {
            moved.push(if end.as_raw_fd() < above {
                Some(fcntl_dupfd_cloexec(end, above)?)
            } else {
                None
            });
        }
        let numbers = given.iter().zip(&moved).map(|(end, moved)| {
            moved
                .as_ref()
                .map_or(end.as_raw_fd(), |moved| moved.as_raw_fd())
        });
        let spawn = Spawn::new(numbers)?;
        let mut argv: Vec<*mut libc::c_char> =
            words.iter().map(|word| word.as_ptr().cast_mut()).collect();
        argv.push(ptr::null_mut());
        let environment: [*mut libc::c_char; 1] = [ptr::null_mut()];
        let mut pid = 0;
        // SAFETY: every pointer is to a live object; both lists end with null; the strings outlive the call.
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
        Self::known(pid)
    }

    /// A child that was started otherwise. One that cannot be watched is ended.
    pub(super) fn known(pid: libc::pid_t) -> io::Result<Self> {
        let child = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        match pidfd_open(child, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd }),
            Err(cause) => {
                // Not reaped yet, so the number cannot belong to anybody else.
                let _ = kill_process(child, Signal::KILL);
                let _ = waitpid(Some(child), WaitOptions::empty());
                Err(cause.into())
            }
        }
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) {
        // The only failure is that it is gone already.
        let _ = rustix::process::pidfd_send_signal(&self.pidfd, signal);
    }

    /// How it ended, when it has. After that it is gone, and must not be asked again.
    pub(super) fn collect(&self) -> Option<Ended> {
        match waitid(
            WaitId::PidFd(self.pidfd.as_fd()),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        ) {
            Ok(None) | Err(Errno::INTR) => None,
            Ok(Some(status)) => Some(Ended::So(status)),
            Err(_) => Some(Ended::Lost),
        }
    }

    /// Waits for its end, or as long as this takes; a signal may cut it short.
    pub(super) fn wait(&self, time: Duration) {
        let time = Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let _ = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&time));
    }
}

/// The end of a process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ended {
    /// In this way.
    So(WaitIdStatus),
    /// Somebody else collected it.
    Lost,
}

/// What reads as nothing and keeps nothing.
pub(super) fn null() -> io::Result<&'static File> {
    static NULL: OnceLock<Result<File, i32>> = OnceLock::new();
    kept(&NULL, || {
        OpenOptions::new().read(true).write(true).open("/dev/null")
    })
}

/// What is opened once and kept.
pub(super) fn kept(
    place: &'static OnceLock<Result<File, i32>>,
    make: fn() -> io::Result<File>,
) -> io::Result<&'static File> {
    let made =
        place.get_or_init(|| make().map_err(|cause| cause.raw_os_error().unwrap_or(libc::EIO)));
    made.as_ref()
        .map_err(|code| io::Error::from_raw_os_error(*code))
}

/// Owns the two attribute objects of a spawn, which must be destroyed on every path.
struct Spawn {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
}

impl Spawn {
    fn new(descriptors: impl Iterator<Item = i32>) -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: both calls initialise the object they are given; a failure leaves nothing to destroy but the first.
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

    fn describe(&mut self, descriptors: impl Iterator<Item = i32>) -> io::Result<()> {
        let (actions, attributes) = (&raw mut self.actions, &raw mut self.attributes);
        let mut signals = MaybeUninit::uninit();
        // SAFETY: both objects are initialised, the descriptors are open, the path is a constant, and the set is filled before it is read.
        unsafe {
            let mut next = 0;
            // The copies are not marked to be closed; everything after them is closed, marked or not.
            for descriptor in descriptors {
                check(libc::posix_spawn_file_actions_adddup2(
                    actions, descriptor, next,
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
            // A session of its own: a key that interrupts the harness in a terminal is passed on by it, or not.
            check(libc::posix_spawnattr_setflags(
                attributes,
                libc::c_short::try_from(flags).unwrap_or_default() | libc::POSIX_SPAWN_SETSID,
            ))
        }
    }
}

impl Drop for Spawn {
    fn drop(&mut self) {
        // SAFETY: both were initialised when this was made, and are used by nobody now.
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
