//! Starting the helper, and being sure that it ends.

use super::block::Filled;
use super::layout::{
    BESIDE, BLOCK, COMMAND, CONTROL, DOORS, FAILED, MOST_PASSED, OWN_PROCESS, PLACE, PLACE_AHEAD,
    STATUS,
};
use super::processors;
use super::scheduling;
use crate::process::child::{Started, kept, null};
use crate::process::clone_vm::{Left, branch};
use crate::process::command::SandboxError;
use crate::process::sys::begin_elsewhere;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::OnceLock;
use std::time::Duration;

static HELPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper"));

/// A running helper. Dropping it ends everything it started.
#[derive(Debug)]
pub(crate) struct Helper {
    pub(crate) process: Started,
    /// Closed to make an end; `None` once it was.
    pub(crate) control: Option<OwnedFd>,
    pub(crate) status: File,
    /// What it may use until it executes its program.
    left: Option<Left>,
    is_reaped: bool,
}

/// Whether the helper says so when a place is made: that wakes whoever listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    Said,
    Unsaid,
}

/// The streams of a command.
pub(crate) struct Streams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Helper {
    /// Starts the helper on the block of namespaces, and does not wait for it. It waits in them for a place.
    pub(crate) fn start(ground: &Filled) -> Result<Self, SandboxError> {
        let memory = memory_of(ground)?;
        let (control, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(SandboxError::step("socket pair"))?;
        let (status, reports) =
            pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::step("pipe"))?;
        let null = null().map_err(SandboxError::step("/dev/null"))?.as_fd();
        // The program comes last: all that is not passed is closed before it is executed.
        let given = [
            null,
            null,
            null,
            memory.as_fd(),
            theirs.as_fd(),
            reports.as_fd(),
            program()?.as_fd(),
        ];
        const {
            assert!(
                BLOCK == 3 && CONTROL == 4 && STATUS == 5 && BESIDE == 6,
                "the order above"
            )
        };
        let (process, left) = branch(c"/proc/self/fd/6", &given, STATUS, [FAILED, OWN_PROCESS, 0])
            .map_err(SandboxError::step("starting the helper"))?;
        scheduling::give(process.pid);
        begin_elsewhere(process.pid.into(), &processors::allowed());
        Ok(Self {
            process,
            control: Some(control),
            status: File::from(status),
            left: Some(left),
            is_reaped: false,
        })
    }

    /// Has the helper make a place, out of these trees.
    pub(crate) fn place(
        &self,
        place: &Filled,
        trees: &[OwnedFd],
        made: Made,
    ) -> Result<(), SandboxError> {
        let memory = memory_of(place)?;
        let passed: Vec<BorrowedFd<'_>> = std::iter::once(memory.as_fd())
            .chain(trees.iter().map(AsFd::as_fd))
            .collect();
        let kind = match made {
            Made::Unsaid => PLACE,
            Made::Said => PLACE_AHEAD,
        };
        self.pass(kind, &passed)
    }

    /// Has the helper start the command, once it is ready.
    pub(crate) fn command(&self, command: &Filled, streams: &Streams) -> Result<(), SandboxError> {
        let memory = memory_of(command)?;
        self.pass(
            COMMAND,
            &[
                streams.stdin.as_fd(),
                streams.stdout.as_fd(),
                streams.stderr.as_fd(),
                memory.as_fd(),
            ],
        )
    }

    /// Has the helper enter control groups, before it makes the place.
    pub(crate) fn enter(&self, doors: &[File]) -> Result<(), SandboxError> {
        let doors: Vec<BorrowedFd<'_>> = doors.iter().map(AsFd::as_fd).collect();
        if doors.is_empty() {
            Ok(())
        } else {
            self.pass(DOORS, &doors)
        }
    }

    fn pass(&self, kind: u8, passed: &[BorrowedFd<'_>]) -> Result<(), SandboxError> {
        let told = match self.send(kind, passed) {
            // Its user has too many descriptors on their way, more than a command can have there alone: limits are told apart for that.
            Err(Errno::TOOMANYREFS) if raise_limit() => self.send(kind, passed),
            told => told,
        };
        match told {
            // A helper that failed has said why, and that is read by whoever waits for it.
            Ok(()) | Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Ok(()),
            // One that works would wait in vain.
            Err(cause) => Err(SandboxError::step("what the helper is told")(
                io::Error::from(cause),
            )),
        }
    }

    fn send(&self, kind: u8, passed: &[BorrowedFd<'_>]) -> Result<(), Errno> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_PASSED))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        if !rights.push(SendAncillaryMessage::ScmRights(passed)) {
            return Err(Errno::TOOBIG);
        }
        let control = self.control.as_ref().ok_or(Errno::NOTCONN)?;
        sendmsg(
            control,
            &[IoSlice::new(&[kind])],
            &mut rights,
            SendFlags::NOSIGNAL,
        )
        .map(|_| ())
    }

    /// Asks the helper to end everything and itself. It does so at once, so this is the way that leaves nobody behind.
    pub(crate) fn end(&mut self) {
        self.control = None;
    }

    /// Ends everything, and waits for it, for a moment at most: there is no command that could be in its way.
    pub(crate) fn end_and_wait(&mut self) {
        const MOMENT: Duration = Duration::from_millis(200);
        self.end();
        self.process.wait(MOMENT);
        self.reap();
    }

    /// Ends the helper itself; for one that does not answer.
    pub(crate) fn kill(&self) {
        self.process.signal(Signal::KILL);
    }

    /// Collects the helper when it has ended.
    pub(crate) fn reap(&mut self) -> bool {
        self.is_reaped = self.is_reaped || self.process.collect().is_some();
        if self.is_reaped
            && let Some(left) = self.left.take()
        {
            // SAFETY: the process is gone.
            unsafe { left.free() };
        }
        self.is_reaped
    }

    /// Passes a signal on to the command.
    pub(crate) fn signal(&self, signal: i32) {
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
        let Ok(pidfd) = self.process.pidfd.try_clone() else {
            return;
        };
        let process = Started {
            pid: self.process.pid,
            pidfd,
        };
        let left = self.left.take();
        let wait = move || {
            while process.collect().is_none() {
                process.wait(Duration::MAX);
            }
            if let Some(left) = left {
                // SAFETY: the process is gone.
                unsafe { left.free() };
            }
        };
        let _ = std::thread::Builder::new().name("reap".into()).spawn(wait);
    }
}

/// Lets this process have as many descriptors as it may; says whether that is more than it had.
fn raise_limit() -> bool {
    let now = getrlimit(Resource::Nofile);
    let is_less = now
        .current
        .is_some_and(|current| now.maximum.is_none_or(|maximum| current < maximum));
    is_less
        && setrlimit(
            Resource::Nofile,
            Rlimit {
                current: now.maximum,
                maximum: now.maximum,
            },
        )
        .is_ok()
}

/// A block as a file that the helper can map.
fn memory_of(block: &Filled) -> Result<File, SandboxError> {
    let mut memory = File::from(
        memfd_create("block", MemfdFlags::CLOEXEC)
            .map_err(SandboxError::step("memory for the helper"))?,
    );
    memory
        .write_all(&block.bytes)
        .map_err(SandboxError::step("memory for the helper"))?;
    Ok(memory)
}

/// The helper as a file that can be executed.
fn program() -> Result<&'static File, SandboxError> {
    static PROGRAM: OnceLock<Result<File, i32>> = OnceLock::new();
    kept(&PROGRAM, make_program).map_err(SandboxError::step("the helper's program"))
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
