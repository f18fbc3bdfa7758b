//! Starting the helper, and being sure that it ends.

use super::SandboxError;
use super::block::Filled;
use super::layout::{BLOCK, COMMAND, CONTROL, DOORS, FURTHER, MOST_PASSED, STATUS};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, Timespec, memfd_create};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, sendmsg, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::ptr;
use std::sync::OnceLock;

static HELPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper"));

/// A running helper. Dropping it ends everything it started.
#[derive(Debug)]
pub(super) struct Helper {
    pub(super) pid: libc::pid_t,
    pub(super) pidfd: OwnedFd,
    /// Closed to make an end; `None` once it was.
    pub(super) control: Option<OwnedFd>,
    pub(super) status: File,
    pub(super) is_reaped: bool,
}

/// The streams of a command.
pub(super) struct Streams {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Helper {
    /// Starts the helper on the block of a place. `further` are the descriptors that the block counts from [`FURTHER`] on.
    pub(super) fn start(place: &Filled, further: &[BorrowedFd<'_>]) -> Result<Self, SandboxError> {
        let memory = memory_of(place)?;
        let (control, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(SandboxError::step("socket pair"))?;
        let (status, reports) = pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::step("pipe"))?;
        let null = null()?.as_fd();
        let mut wanted = vec![null, null, null, memory.as_fd(), theirs.as_fd(), reports.as_fd()];
        const { assert!(BLOCK == 3 && CONTROL == 4 && STATUS == 5 && FURTHER == 6, "the order above") };
        wanted.extend(further);
        // The program comes last: all that is not passed is closed before it is executed.
        wanted.push(program()?.as_fd());
        let path = CString::new(format!("/proc/self/fd/{}", wanted.len() - 1)).unwrap_or_default();
        let pid = start(&path, &wanted)?;
        let known = Pid::from_raw(pid).ok_or_else(|| SandboxError::step("process id")(io::Error::from(io::ErrorKind::InvalidData)))?;
        match pidfd_open(known, PidfdFlags::empty()) {
            Ok(pidfd) => Ok(Self { pid, pidfd, control: Some(control), status: File::from(status), is_reaped: false }),
            Err(cause) => {
                // Without the control socket it ends by itself. Not reaped yet, so the number cannot belong to anybody else.
                drop(control);
                let _ = rustix::process::waitpid(Some(known), rustix::process::WaitOptions::empty());
                Err(SandboxError::step("pidfd")(cause))
            }
        }
    }

    /// Has the helper start the command, once it is ready.
    pub(super) fn command(&self, command: &Filled, streams: &Streams) -> Result<(), SandboxError> {
        let memory = memory_of(command)?;
        self.pass(COMMAND, &[streams.stdin.as_fd(), streams.stdout.as_fd(), streams.stderr.as_fd(), memory.as_fd()])
    }

    /// Has the helper enter control groups, before it starts the command.
    pub(super) fn enter(&self, doors: &[File]) -> Result<(), SandboxError> {
        let doors: Vec<BorrowedFd<'_>> = doors.iter().map(AsFd::as_fd).collect();
        if doors.is_empty() { Ok(()) } else { self.pass(DOORS, &doors) }
    }

    fn pass(&self, kind: u8, passed: &[BorrowedFd<'_>]) -> Result<(), SandboxError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_PASSED))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        rights.push(SendAncillaryMessage::ScmRights(passed));
        let control =
            self.control.as_ref().ok_or_else(|| SandboxError::step("the command")(io::Error::from(io::ErrorKind::NotConnected)))?;
        sendmsg(control, &[IoSlice::new(&[kind])], &mut rights, SendFlags::NOSIGNAL).map_err(SandboxError::step("the command"))?;
        Ok(())
    }

    /// Asks the helper to end everything and itself. It does so at once, so this is the way that leaves nobody behind.
    pub(super) fn end(&mut self) {
        self.control = None;
    }

    /// Ends everything, and waits for it, for a moment at most: there is no command that could be in its way.
    pub(super) fn end_and_wait(&mut self) {
        const MOMENT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
        self.end();
        let _ = poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&MOMENT));
        self.reap();
    }

    /// Ends the helper itself; for one that does not answer.
    pub(super) fn kill(&self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Collects the helper when it has ended.
    pub(super) fn reap(&mut self) -> bool {
        if !self.is_reaped {
            let gone = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
            self.is_reaped = !matches!(gone, Ok(None) | Err(rustix::io::Errno::INTR));
        }
        self.is_reaped
    }

    /// Passes a signal on to the command.
    pub(super) fn signal(&self, signal: i32) {
        if let Some(control) = &self.control {
            let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
            let _ = rustix::net::send(control, &signal.to_ne_bytes(), flags);
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.end();
        if self.reap() {
            return;
        }
        // Somebody gave up waiting. It still ends, and is collected, but nobody is kept.
        let Ok(pidfd) = self.pidfd.try_clone() else { return };
        let wait = move || {
            let _ = waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED);
        };
        let _ = std::thread::Builder::new().name("reap".into()).spawn(wait);
    }
}

/// A block as a file that the helper can map.
fn memory_of(block: &Filled) -> Result<File, SandboxError> {
    let mut memory = File::from(memfd_create("block", MemfdFlags::CLOEXEC).map_err(SandboxError::step("memory for the helper"))?);
    memory.write_all(&block.bytes).map_err(SandboxError::step("memory for the helper"))?;
    Ok(memory)
}

/// What reads as nothing and keeps nothing.
pub(super) fn null() -> Result<&'static File, SandboxError> {
    static NULL: OnceLock<Result<File, i32>> = OnceLock::new();
    kept(&NULL, "/dev/null", || OpenOptions::new().read(true).write(true).open("/dev/null"))
}

/// What is opened once and kept.
fn kept(
    place: &'static OnceLock<Result<File, i32>>,
    what: &'static str,
    make: fn() -> io::Result<File>,
) -> Result<&'static File, SandboxError> {
    let made = place.get_or_init(|| make().map_err(|cause| cause.raw_os_error().unwrap_or(libc::EIO)));
    made.as_ref().map_err(|code| SandboxError::step(what)(io::Error::from_raw_os_error(*code)))
}

/// The helper as a file that can be executed.
fn program() -> Result<&'static File, SandboxError> {
    static PROGRAM: OnceLock<Result<File, i32>> = OnceLock::new();
    kept(&PROGRAM, "the helper's program", make_program)
}

fn make_program() -> io::Result<File> {
    // Older kernels do not know the flag, and need none.
    const EXECUTABLE: MemfdFlags = MemfdFlags::from_bits_retain(0x10);
    let memory = memfd_create("harness-helper", MemfdFlags::CLOEXEC | EXECUTABLE)
        .or_else(|_| memfd_create("harness-helper", MemfdFlags::CLOEXEC))?;
    let mut memory = File::from(memory);
    memory.write_all(HELPER)?;
    // A file that is open for writing cannot be executed.
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let mut reading = OpenOptions::new();
    reading.read(true).custom_flags(libc::O_CLOEXEC);
    let readable = reading.open(path)?;
    drop(memory);
    Ok(readable)
}

fn start(program: &CString, wanted: &[BorrowedFd<'_>]) -> Result<libc::pid_t, SandboxError> {
    let failed = SandboxError::step::<io::Error>;
    // Above every number they will get, so that no copy overwrites one that is still needed.
    let above = i32::try_from(wanted.len()).unwrap_or(i32::MAX);
    let mut moved: Vec<Option<OwnedFd>> = Vec::with_capacity(wanted.len());
    for end in wanted {
        let is_low = end.as_raw_fd() < above;
        moved.push(if is_low { Some(fcntl_dupfd_cloexec(end, above).map_err(SandboxError::step("descriptor"))?) } else { None });
    }
    let sources: Vec<i32> =
        wanted.iter().zip(&moved).map(|(end, moved)| moved.as_ref().map_or(end.as_raw_fd(), AsRawFd::as_raw_fd)).collect();
    let spawn = Spawn::new(&sources).map_err(failed("starting the helper"))?;
    let argv = [program.as_ptr().cast_mut(), ptr::null_mut()];
    let environment: [*mut libc::c_char; 1] = [ptr::null_mut()];
    let mut pid = 0;
    // SAFETY: every pointer is to a live object; both lists end with null.
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
    check(code).map_err(failed("starting the helper"))?;
    Ok(pid)
}

/// Owns the two attribute objects of a spawn, which must be destroyed on every path.
struct Spawn {
    actions: libc::posix_spawn_file_actions_t,
    attributes: libc::posix_spawnattr_t,
}

impl Spawn {
    fn new(sources: &[i32]) -> io::Result<Self> {
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
            Self { actions, attributes: attributes.assume_init() }
        };
        spawn.describe(sources)?;
        Ok(spawn)
    }

    fn describe(&mut self, sources: &[i32]) -> io::Result<()> {
        let (actions, attributes) = (&raw mut self.actions, &raw mut self.attributes);
        let mut signals = MaybeUninit::uninit();
        // SAFETY: both objects are initialised, the descriptors are open, and the set is filled before it is read.
        unsafe {
            let mut next = 0;
            for source in sources {
                check(libc::posix_spawn_file_actions_adddup2(actions, *source, next))?;
                next += 1;
            }
            check(libc::posix_spawn_file_actions_addclosefrom_np(actions, next))?;
            libc::sigemptyset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigmask(attributes, signals.as_ptr()))?;
            libc::sigfillset(signals.as_mut_ptr());
            check(libc::posix_spawnattr_setsigdefault(attributes, signals.as_ptr()))?;
            let flags = libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF;
            // A session of its own: a key that interrupts the harness in a terminal is passed on by it, or not.
            check(libc::posix_spawnattr_setflags(attributes, libc::c_short::try_from(flags).unwrap_or_default() | libc::POSIX_SPAWN_SETSID))
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
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}
