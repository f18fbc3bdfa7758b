//! Starting, watching and ending a worker.

use super::confine::{is_alone, leave, read_clock};
use super::cpu_affinity::PinnedEvaluator;
use super::{
    ANSWERS, Channel, Death, ExitCode, ProcessError, REQUESTS, WorkerLimits, WorkerProgram,
};
use crate::lock::lock;
use crate::process::child::{ChildExit, ChildProcess, null};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A running worker. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct WorkerProcess {
    pub(super) process: ChildProcess,
    clock: libc::clockid_t,
    channel: Option<Channel>,
    /// The worker's end, kept open here, too: writing to a worker that is gone would otherwise
    /// raise a signal in this process.
    _requests: OwnedFd,
    death: Mutex<Option<Death>>,
    /// The core it is pinned to.
    pub(super) pinned: Option<PinnedEvaluator>,
}

impl WorkerProcess {
    /// Starts `program` as a worker: empty environment, `/` as its directory, nothing on its
    /// standard streams, and no descriptor but its ends of the channel.
    pub fn spawn(program: &WorkerProgram, limits: &WorkerLimits) -> Result<Self, ProcessError> {
        let Pipes {
            ours,
            requests,
            answers,
        } = Pipes::new()?;
        let failed = |cause| ProcessError::Start {
            path: program.path.clone(),
            cause,
        };
        let text = |bytes: &[u8]| {
            CString::new(bytes).map_err(|_| failed(io::ErrorKind::InvalidInput.into()))
        };
        let path = text(program.path.as_os_str().as_bytes())?;
        let (argument, limits) = (
            text(program.argument.as_bytes())?,
            text(limits.to_argument().as_bytes())?,
        );
        let null = null().map_err(failed)?.as_fd();
        const { assert!(REQUESTS == 3 && ANSWERS == 4, "the order below") };
        let given = [null, null, null, requests.as_fd(), answers.as_fd()];
        let process =
            ChildProcess::new(&path, &[&path, &argument, &limits], &given).map_err(failed)?;
        Ok(Self::of(process, ours, requests))
    }

    /// Starts a worker as a fork of this process, which saves starting the program again. `work`
    /// runs in the fork and must turn it into a worker. Only for a process that has done nothing
    /// yet: it must have one thread, and the worker shares what it has in memory. The fork's
    /// environment is wiped.
    pub fn fork(work: impl FnOnce()) -> Result<Self, ProcessError> {
        if !is_alone() {
            let cause = io::Error::from(io::ErrorKind::Unsupported);
            return Err(ProcessError::step("other threads")(cause));
        }
        let Pipes {
            ours,
            requests,
            answers,
        } = Pipes::new()?;
        // SAFETY: there is one thread, so the fork holds no lock that would never be released.
        match unsafe { libc::fork() } {
            -1 => Err(ProcessError::step("fork")(io::Error::last_os_error())),
            0 => {
                become_a_copy(&requests, &answers);
                work();
                leave(ExitCode::Unconfined)
            }
            pid => Ok(Self::of(
                ChildProcess::of_child(pid).map_err(ProcessError::step("pidfd"))?,
                ours,
                requests,
            )),
        }
    }

    fn of(process: ChildProcess, channel: Channel, requests: OwnedFd) -> Self {
        Self {
            clock: clock_of(process.pid),
            process,
            channel: Some(channel),
            _requests: requests,
            death: Mutex::new(None),
            pinned: None,
        }
    }

    /// The process number, for messages.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.pid.unsigned_abs()
    }

    /// Takes the harness's side of the channel. The worker exits when its writer is closed.
    pub fn take_channel(&mut self) -> Option<Channel> {
        self.channel.take()
    }

    /// Kills the worker. It still has to be reaped.
    pub fn kill(&self) {
        self.process.signal(Signal::KILL);
    }

    /// Asks the worker to exit and say where it was. A compromised one may refuse, and must be
    /// killed.
    pub fn stop(&self) {
        self.process.signal(Signal::TERM);
    }

    /// Processor time the worker has used; `None` once it was reaped.
    #[must_use]
    pub fn cpu_time(&self) -> Option<Duration> {
        // Holding the lock keeps the process from being reaped, and its number from being reused.
        let death = lock(&self.death);
        if death.is_some() {
            return None;
        }
        read_clock(self.clock)
    }

    /// How the worker ended, if it has.
    pub fn try_reap(&self) -> Option<Death> {
        let mut death = lock(&self.death);
        if death.is_none() {
            *death = self.process.collect().and_then(|ended| match ended {
                ChildExit::Status(status) => status
                    .exit_status()
                    .map(Death::Exit)
                    .or(status.terminating_signal().map(Death::Signal)),
                ChildExit::Lost => Some(Death::Lost),
            });
        }
        *death
    }

    /// Waits at most `timeout` for the worker to end.
    pub fn wait(&self, timeout: Duration) -> Option<Death> {
        let started = Instant::now();
        loop {
            if let Some(death) = self.try_reap() {
                return Some(death);
            }
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                return None;
            }
            // If the wait is cut short, the loop checks again.
            self.process.wait(left);
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.kill();
        // A killed worker holds no file or device, so nothing can delay its end for long.
        while self.wait(Duration::from_secs(1)).is_none() {
            self.kill();
        }
    }
}

/// Both pipes of a channel.
struct Pipes {
    ours: Channel,
    requests: OwnedFd,
    answers: OwnedFd,
}

impl Pipes {
    fn new() -> Result<Self, ProcessError> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(ProcessError::step("pipe"));
        let ((requests, writer), (reader, answers)) = (pipe()?, pipe()?);
        // Well above the descriptors a worker starts with, so that none is overwritten before it is
        // copied.
        let above = |end: OwnedFd| {
            rustix::io::fcntl_dupfd_cloexec(&end, 16).map_err(ProcessError::step("descriptor"))
        };
        let ours = Channel {
            reader: File::from(reader),
            writer: File::from(writer),
        };
        Ok(Self {
            ours,
            requests: above(requests)?,
            answers: above(answers)?,
        })
    }
}

/// Gives a fork of this process what a started program would have: a session of its own, `/` as its
/// directory, its ends of the channel, no environment.
fn become_a_copy(requests: &OwnedFd, answers: &OwnedFd) {
    // SAFETY: this is the fork, with one thread; the descriptors are open, and the environment is a
    // null-terminated list of strings that nothing reads any more.
    let done = unsafe {
        let mut none = MaybeUninit::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            ptr::write_bytes(*entry, 0, libc::strlen(*entry));
            *entry = ptr::null_mut();
            entry = entry.add(1);
        }
        libc::setsid() != -1
            && libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut()) == 0
            && libc::chdir(c"/".as_ptr()) == 0
            && libc::dup2(requests.as_raw_fd(), REQUESTS) == REQUESTS
            && libc::dup2(answers.as_raw_fd(), ANSWERS) == ANSWERS
    };
    if !done {
        leave(ExitCode::Unconfined);
    }
}

unsafe extern "C" {
    static environ: *mut *mut libc::c_char;
}

/// The clock of a process's processor time, as the kernel numbers them; saves a system call.
fn clock_of(pid: libc::pid_t) -> libc::clockid_t {
    const SCHEDULED: libc::clockid_t = 2;
    (!pid << 3) | SCHEDULED
}
