//! Starting, watching and ending a worker.

use super::confine::{is_alone, leave, read_clock};
use super::near::Held;
use super::{ANSWERS, Channel, Death, ExitCode, ProcessError, REQUESTS, WorkerLimits, WorkerProgram};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A running worker. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct WorkerProcess {
    pub(super) pid: libc::pid_t,
    pidfd: OwnedFd,
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
        let Pipes { ours, requests, answers } = Pipes::new()?;
        let pid = start(program, limits, [(requests.as_fd(), REQUESTS), (answers.as_fd(), ANSWERS)])?;
        Self::watch(pid, ours, requests)
    }

    /// Starts a worker as a copy of this process, which saves starting the program again. `work` runs in the copy and must turn it into
    /// a worker. Only for a process that has done nothing yet: it must have one thread, and what it holds in memory the worker holds too.
    /// The environment is wiped from the copy.
    pub fn fork(work: impl FnOnce()) -> Result<Self, ProcessError> {
        if !is_alone() {
            return Err(ProcessError::step("other threads")(io::ErrorKind::Unsupported.into()));
        }
        let Pipes { ours, requests, answers } = Pipes::new()?;
        // SAFETY: there is one thread, so the copy holds no lock that nobody will release.
        match unsafe { libc::fork() } {
            -1 => Err(ProcessError::step("fork")(io::Error::last_os_error())),
            0 => {
                become_a_copy(&requests, &answers);
                work();
                leave(ExitCode::Unconfined)
            }
            pid => Self::watch(pid, ours, requests),
        }
    }

    fn watch(pid: libc::pid_t, channel: Channel, requests: OwnedFd) -> Result<Self, ProcessError> {
        let channel = Some(channel);
        let known = Pid::from_raw(pid).ok_or_else(|| ProcessError::step("process id")(io::ErrorKind::InvalidData.into()))?;
        match pidfd_open(known, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd, clock: clock_of(pid), channel, _requests: requests, death: Mutex::new(None), held: None }),
            Err(cause) => {
                // Not reaped yet, so the number cannot belong to anybody else.
                let _ = rustix::process::kill_process(known, Signal::KILL);
                let _ = rustix::process::waitpid(Some(known), rustix::process::WaitOptions::empty());
                Err(ProcessError::step("pidfd")(cause.into()))
            }
        }
    }

    /// The process number, for messages.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Takes the harness's side of the channel. The worker ends when its writer is closed.
    pub fn take_channel(&mut self) -> Option<Channel> {
        self.channel.take()
    }

    /// Ends the worker at once. It still has to be reaped.
    pub fn kill(&self) {
        // The only failure is that it is gone already.
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Asks the worker to end and say where it was. One that was taken over may refuse: it still has to be killed.
    pub fn stop(&self) {
        // The only failure is that it is gone already.
        let _ = pidfd_send_signal(&self.pidfd, Signal::TERM);
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
            *death = match waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
                Ok(None) => None,
                Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Some(Death::Exit(code)),
                    (None, Some(signal)) => Some(Death::Signal(signal)),
                    (None, None) => None,
                },
                Err(rustix::io::Errno::INTR) => None,
                Err(_) => Some(Death::Lost),
            };
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
            let left = Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: left.subsec_nanos().into() };
            // A failed poll only means looking again.
            let _ = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&left));
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
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|cause| ProcessError::step("pipe")(cause.into()));
        let ((requests, writer), (reader, answers)) = (pipe()?, pipe()?);
        // Well above the descriptors a worker starts with, so that none is overwritten before it is copied.
        let above =
            |end: OwnedFd| rustix::io::fcntl_dupfd_cloexec(&end, 16).map_err(|cause| ProcessError::step("descriptor")(cause.into()));
        let ours = Channel { reader: File::from(reader), writer: File::from(writer) };
        Ok(Self { ours, requests: above(requests)?, answers: above(answers)? })
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

/// Owns the two attribute objects of a spawn, which must be destroyed on every path.
struct Plan {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
}

/// The clock of a process's processor time, as the kernel numbers them: asking for it would be a system call that tells no more.
fn clock_of(pid: libc::pid_t) -> libc::clockid_t {
    const SCHEDULED: libc::clockid_t = 2;
    (!pid << 3) | SCHEDULED
}

fn start(program: &WorkerProgram, limits: &WorkerLimits, channel: [(BorrowedFd<'_>, i32); 2]) -> Result<libc::pid_t, ProcessError> {
    let failed = |cause| ProcessError::Start { path: program.path.clone(), cause };
    let text = |bytes: &[u8]| CString::new(bytes).map_err(|_| failed(io::ErrorKind::InvalidInput.into()));
    let path = text(program.path.as_os_str().as_bytes())?;
    let arguments = [path.clone(), text(program.argument.as_bytes())?, text(limits.to_argument().as_bytes())?];
    let mut argv: Vec<*mut libc::c_char> = arguments.iter().map(|argument| argument.as_ptr().cast_mut()).collect();
    argv.push(ptr::null_mut());
    let environment: [*mut libc::c_char; 1] = [ptr::null_mut()];
    let plan = Plan::new(channel).map_err(failed)?;
    let mut pid = 0;
    // SAFETY: every pointer is to a live object; `argv` and `environment` end with null; the strings outlive the call.
    let code = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            path.as_ptr(),
            &raw const plan.actions,
            &raw const plan.attributes,
            argv.as_ptr(),
            environment.as_ptr(),
        )
    };
    drop(plan);
    check(code).map_err(failed)?;
    Ok(pid)
}

impl Plan {
    fn new(channel: [(BorrowedFd<'_>, i32); 2]) -> io::Result<Self> {
        let mut actions = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: both calls initialise the object they are given; a failure leaves nothing to destroy but the first.
        let mut plan = unsafe {
            check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
            let mut actions = actions.assume_init();
            if let Err(cause) = check(libc::posix_spawnattr_init(attributes.as_mut_ptr())) {
                libc::posix_spawn_file_actions_destroy(&raw mut actions);
                return Err(cause);
            }
            Self { actions, attributes: attributes.assume_init() }
        };
        plan.describe_files(channel)?;
        plan.describe_process()?;
        Ok(plan)
    }

    fn describe_files(&mut self, channel: [(BorrowedFd<'_>, i32); 2]) -> io::Result<()> {
        let actions = &raw mut self.actions;
        // SAFETY: the actions are initialised, the paths are constants, and the descriptors are open.
        unsafe {
            for stream in 0..REQUESTS {
                check(libc::posix_spawn_file_actions_addopen(actions, stream, c"/dev/null".as_ptr(), libc::O_RDWR, 0))?;
            }
            // The copies are not marked to be closed; everything after them is closed, marked or not.
            for (end, place) in channel {
                check(libc::posix_spawn_file_actions_adddup2(actions, end.as_raw_fd(), place))?;
            }
            check(libc::posix_spawn_file_actions_addclosefrom_np(actions, ANSWERS + 1))?;
            check(libc::posix_spawn_file_actions_addchdir_np(actions, c"/".as_ptr()))
        }
    }

    fn describe_process(&mut self) -> io::Result<()> {
        let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
        let attributes = &raw mut self.attributes;
        let mut signals = MaybeUninit::uninit();
        // SAFETY: the attributes are initialised, and so is the set after the call that fills it.
        unsafe {
            libc::sigemptyset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigmask(attributes, signals.as_ptr()))?;
            libc::sigfillset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigdefault(attributes, signals.as_ptr()))?;
            // A session of its own: a key that interrupts the harness in a terminal is not the worker's business.
            check(libc::posix_spawnattr_setflags(attributes, libc::c_short::try_from(flags).unwrap_or_default() | libc::POSIX_SPAWN_SETSID))
        }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: both were initialised when the plan was made, and are used by nobody now.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&raw mut self.actions);
            libc::posix_spawnattr_destroy(&raw mut self.attributes);
        }
    }
}

/// These functions return an error number instead of setting it.
fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}
