//! Starting the helper, and making sure that it ends.

use super::block::EncodedBlock;
use super::layout::{
    BLOCK, CGROUPS, COMMAND, CONTAINER, CONTAINER_AHEAD, CONTROL, FAILED, HelperReport,
    MOST_PASSED, OWN_PROCESS, PEER, STATUS,
};
use super::processors;
use super::scheduling;
use crate::process::child::{ChildProcess, null, opened_once, wait_readable};
use crate::process::clone_vm::{LaunchMemory, clone_vm};
use crate::process::command::SandboxError;
use crate::process::sys::begin_elsewhere;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recvmsg, sendmsg, shutdown,
    socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::OnceLock;
use std::time::Duration;

static HELPER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/helper"));

/// A running helper. Dropping it ends everything it started.
#[derive(Debug)]
pub(crate) struct Helper {
    pub(crate) process: ChildProcess,
    /// Closing it ends the helper; `None` once closed.
    pub(crate) control: Option<OwnedFd>,
    pub(crate) status: File,
    /// What it may use until it executes its program.
    launch_memory: Option<LaunchMemory>,
    is_reaped: bool,
}

/// Whether the helper reports that a container is ready, which wakes its listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadyReport {
    Wanted,
    Unwanted,
}

/// The streams of a command.
pub(crate) struct CommandStreams {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

impl Helper {
    /// Starts the helper with its namespaces' block, without waiting for it. It waits in the
    /// namespaces for a container.
    pub(crate) fn start(namespaces: &EncodedBlock) -> Result<Self, SandboxError> {
        let memory = memory_of(namespaces)?;
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
        // The program comes last: descriptors that are not passed are closed before it is executed.
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
                BLOCK == 3 && CONTROL == 4 && STATUS == 5 && PEER == 6,
                "the order above"
            )
        };
        let (process, launch_memory) =
            clone_vm(c"/proc/self/fd/6", &given, STATUS, [FAILED, OWN_PROCESS, 0])
                .map_err(SandboxError::step("starting the helper"))?;
        scheduling::request_short_slices(process.pid);
        begin_elsewhere(process.pid.into(), &processors::allowed());
        Ok(Self {
            process,
            control: Some(control),
            status: File::from(status),
            launch_memory: Some(launch_memory),
            is_reaped: false,
        })
    }

    /// Has the helper make a container from these trees.
    pub(crate) fn make_container(
        &self,
        container: &EncodedBlock,
        trees: &[OwnedFd],
        report: ReadyReport,
    ) -> Result<(), SandboxError> {
        let memory = memory_of(container)?;
        let passed: Vec<BorrowedFd<'_>> = std::iter::once(memory.as_fd())
            .chain(trees.iter().map(AsFd::as_fd))
            .collect();
        let kind = match report {
            ReadyReport::Unwanted => CONTAINER,
            ReadyReport::Wanted => CONTAINER_AHEAD,
        };
        self.pass(kind, &passed)
    }

    /// Has the helper start the command, once the container is ready.
    pub(crate) fn start_command(
        &self,
        command: &EncodedBlock,
        streams: &CommandStreams,
    ) -> Result<(), SandboxError> {
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

    /// Has the helper enter cgroups before it makes the container.
    pub(crate) fn enter_cgroups(&self, doors: &[BorrowedFd<'_>]) -> Result<(), SandboxError> {
        if doors.is_empty() {
            return Ok(());
        }
        self.pass(CGROUPS, doors)
    }

    fn pass(&self, kind: u8, passed: &[BorrowedFd<'_>]) -> Result<(), SandboxError> {
        let told = match self.send(kind, passed) {
            // Its user has too many descriptors in flight, more than a command alone can have: that
            // is why their limits differ.
            Err(Errno::TOOMANYREFS) if raise_limit() => self.send(kind, passed),
            told => told,
        };
        match told {
            // A helper that failed has reported why, and its watcher reads that.
            Ok(()) | Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Ok(()),
            // A working helper would wait forever.
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

    /// Asks the helper to kill everything and exit. It does so at once, and leaves no process
    /// behind.
    pub(crate) fn stop(&mut self) {
        if let Some(control) = self.control.take() {
            // Whoever else has it open, the helper hears that it is over.
            let _ = shutdown(&control, Shutdown::Both);
        }
    }

    /// Ends everything, and waits for it for a moment at most: no command can delay it.
    pub(crate) fn stop_and_wait(&mut self) {
        const MOMENT: Duration = Duration::from_millis(200);
        self.stop();
        self.process.wait(MOMENT);
        self.reap();
    }

    /// Kills the helper itself, if it does not answer.
    pub(crate) fn kill(&self) {
        self.process.signal(Signal::KILL);
    }

    /// Reaps the helper if it has ended.
    pub(crate) fn reap(&mut self) -> bool {
        self.is_reaped = self.is_reaped || self.process.collect().is_some();
        if self.is_reaped
            && let Some(launch_memory) = self.launch_memory.take()
        {
            // SAFETY: the process is gone.
            unsafe { launch_memory.free() };
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

    /// Answers a question about a name.
    pub(crate) fn answer(&self, kind: u8, file: Option<BorrowedFd<'_>>) {
        // A helper that is gone needs no answer.
        let _ = self.send(kind, file.as_slice());
    }

    /// The next report; `None` after the last one, an error if none arrives in time.
    pub(crate) fn next_report(&mut self, time: Duration) -> io::Result<Option<HelperReport>> {
        if !retry_on_intr(|| wait_readable(&self.status, time))? {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let mut bytes = [0; size_of::<HelperReport>()];
        let is_read = self.status.read_exact(&mut bytes).is_ok();
        Ok(is_read.then(|| HelperReport::from_bytes(&bytes)))
    }
}

/// A message of the helper about a name, and the file it passes; empty if there will be none.
pub(crate) fn receive_name(control: BorrowedFd<'_>) -> Result<(Vec<u8>, Option<OwnedFd>), Errno> {
    /// A path, and what the message is.
    const LONGEST: usize = 4096 + 512;
    let mut bytes = vec![0; LONGEST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let parts = &mut [IoSliceMut::new(&mut bytes)];
    let received = recvmsg(control, parts, &mut rights, flags)?;
    let mut file = None;
    for message in rights.drain() {
        if let RecvAncillaryMessage::ScmRights(files) = message {
            file = files.last().or(file);
        }
    }
    bytes.truncate(received.bytes);
    Ok((bytes, file))
}

impl HelperReport {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let number = |at: usize| {
            let bytes = bytes.get(4 * at..4 * at + 4);
            bytes.map_or(0, |four| {
                u32::from_ne_bytes([four[0], four[1], four[2], four[3]])
            })
        };
        Self {
            kind: number(0),
            first: number(1),
            second: number(2),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.stop();
        if self.reap() {
            return;
        }
        // The caller gave up waiting. The helper still ends, and another thread reaps it.
        let Ok(pidfd) = self.process.pidfd.try_clone() else {
            return;
        };
        let process = ChildProcess {
            pid: self.process.pid,
            pidfd,
        };
        let launch_memory = self.launch_memory.take();
        let wait = move || {
            while process.collect().is_none() {
                process.wait(Duration::MAX);
            }
            if let Some(launch_memory) = launch_memory {
                // SAFETY: the process is gone.
                unsafe { launch_memory.free() };
            }
        };
        let _ = std::thread::Builder::new().name("reap".into()).spawn(wait);
    }
}

/// Raises the descriptor limit of this process to its maximum; returns whether that helps.
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
fn memory_of(block: &EncodedBlock) -> Result<File, SandboxError> {
    let mut memory = File::from(
        memfd_create("block", MemfdFlags::CLOEXEC)
            .map_err(SandboxError::step("memory for the helper"))?,
    );
    memory
        .write_all(&block.bytes)
        .map_err(SandboxError::step("memory for the helper"))?;
    Ok(memory)
}

/// The helper as an executable file.
fn program() -> Result<&'static File, SandboxError> {
    static PROGRAM: OnceLock<Result<File, i32>> = OnceLock::new();
    opened_once(&PROGRAM, make_program).map_err(SandboxError::step("the helper's program"))
}

fn make_program() -> io::Result<File> {
    // Older kernels do not know the flag, and do not need it.
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
