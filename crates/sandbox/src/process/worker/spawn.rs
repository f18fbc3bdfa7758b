//! Starting, watching and ending a worker.

use super::confine::{is_alone, leave, read_clock};
use super::cpu_affinity::Held;
use super::{
    ANSWERS, Channel, Death, ExitCode, ProcessError, REQUESTS, WorkerLimits, WorkerProgram,
};
use crate::process::child::{Ended, Started, null};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A running worker. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct WorkerProcess {
    pub(super) process: Started,
    clock: libc::clockid_t,
    channel: Option<Channel>,
    /// The worker's end, held here too: writing to a worker that is gone would otherwise raise a signal in this process.
    _requests: OwnedFd,
    death: Mutex<Option<Death>>,
    /// The core it was put on.
    pub(super) held: Option<Held>,
}

impl WorkerProcess {
    /// Starts `program` as a worker: empty environment, `/` as its directory, nothing on its standard streams, and no
    /// descriptor but its end of the channel.
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
        let process = Started::new(&path, &[&path, &argument, &limits], &given).map_err(failed)?;
        Ok(Self::of(process, ours, requests))
    }

    /// Starts a worker as a copy of this process, which saves starting the program again. `work` runs in the copy and must turn it into
    /// a worker. Only for a process that has done nothing yet: it must have one thread, and what it holds in memory the worker holds too.
    /// The environment is wiped from the copy.
    pub fn fork(work: impl FnOnce()) -> Result<Self, ProcessError> {
        if !is_alone() {
            return Err(ProcessError::step("other threads")(
                io::ErrorKind::Unsupported.into(),
            ));
        }
        let Pipes {
            ours,
            requests,
            answers,
        } = Pipes::new()?;
        // SAFETY: there is one thread, so the copy holds no lock that nobody will release.
        match unsafe { libc::fork() } {
            -1 => Err(ProcessError::step("fork")(io::Error::last_os_error())),
            0 => {
                become_a_copy(&requests, &answers);
                work();
                leave(ExitCode::Unconfined)
            }
            pid => Ok(Self::of(
                Started::known(pid).map_err(ProcessError::step("pidfd"))?,
                ours,
                requests,
            )),
        }
    }

    fn of(process: Started, channel: Channel, requests: OwnedFd) -> Self {
        Self {
            clock: clock_of(process.pid),
            process,
            channel: Some(channel),
            _requests: requests,
            death: Mutex::new(None),
            held: None,
        }
    }

    /// The process number, for messages.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.pid.unsigned_abs()
    }

    /// Takes the harness's side of the channel. The worker ends when its writer is closed.
    pub fn take_channel(&mut self) -> Option<Channel> {
        self.channel.take()
    }

    /// Ends the worker at once. It still has to be reaped.
    pub fn kill(&self) {
        self.process.signal(Signal::KILL);
    }

    /// Asks the worker to end and say where it was. One that was taken over may refuse: it still has to be killed.
    pub fn stop(&self) {
        self.process.signal(Signal::TERM);
    }

    /// Processor time the worker has used; `None` once it was reaped.
    #[must_use]
    pub fn cpu_time(&self) -> Option<Duration> {
        // Holding the lock keeps the process from being reaped, and its number from being reused.
        let death = self.death.lock().unwrap_or_else(PoisonError::into_inner);
        if death.is_some() {
            return None;
        }
        read_clock(self.clock)
    }

    /// How the worker ended, when it has.
    pub fn try_reap(&self) -> Option<Death> {
        let mut death = self.death.lock().unwrap_or_else(PoisonError::into_inner);
        if death.is_none() {
            *death = self.process.collect().and_then(|ended| match ended {
                Ended::So(status) => status
                    .exit_status()
                    .map(Death::Exit)
                    .or(status.terminating_signal().map(Death::Signal)),
                Ended::Lost => Some(Death::Lost),
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
            // Cut short, it only means looking again.
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
        let pipe = || {
            pipe_with(PipeFlags::CLOEXEC).map_err(|cause| ProcessError::step("pipe")(cause.into()))
        };
        let ((requests, writer), (reader, answers)) = (pipe()?, pipe()?);
        // Well above the descriptors a worker starts with, so that none is overwritten before it is copied.
        let above = |end: OwnedFd| {
            rustix::io::fcntl_dupfd_cloexec(&end, 16)
                .map_err(|cause| ProcessError::step("descriptor")(cause.into()))
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

/// Makes a copy of this process what a started program would be: a session of its own, `/` as its directory, its ends of the channel,
/// no environment.
fn become_a_copy(requests: &OwnedFd, answers: &OwnedFd) {
    // SAFETY: this is the copy, with one thread; the descriptors are open, and the environment is a list of strings that ends with null
    // and that nobody reads any more.
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

/// The clock of a process's processor time, as the kernel numbers them: asking for it would be a system call that tells no more.
fn clock_of(pid: libc::pid_t) -> libc::clockid_t {
    const SCHEDULED: libc::clockid_t = 2;
    (!pid << 3) | SCHEDULED
}
