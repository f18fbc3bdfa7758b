//! One live worker: its process, its channel, and what it has loaded.

use super::protocol::{MAX_FRAME, Request, Response};
use super::script::Script;
use super::wire::WireError;
use std::collections::HashSet;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tool_harness_sandbox::process::{Cause, WorkerLimits, WorkerProcess, WorkerProgram};

/// How long a worker whose channel closed, or that was asked to stop, may take to be gone.
const DEATH_WAIT: Duration = Duration::from_millis(30);
/// Room a frame may take beyond the result it carries.
const FRAME_SLACK: u64 = 4096;

/// Bytes asked for in one read.
const CHUNK: usize = 16 << 10;

/// A worker process that can be spoken to.
#[derive(Debug)]
pub(crate) struct Worker {
    process: Option<WorkerProcess>,
    /// Watched for reading only: were it watched for writing too, the worker's reading of a request would wake this side each time.
    stream: AsyncFd<UnixStream>,
    buffer: Vec<u8>,
    loaded: HashSet<u32>,
    /// Whether it has run anything since it started.
    pub(crate) used: bool,
}

/// A worker that will not answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It died, or had to be killed because it did not speak the protocol.
    Died {
        /// What its death means.
        cause: Cause,
        /// The part of the request it was at, when it lived to say.
        part: Option<usize>,
    },
    /// It sent a frame larger than it may.
    Oversized,
    /// A request to it cannot be written down.
    Unsendable,
}

impl Worker {
    /// Starts a worker and waits until it is confined.
    pub(crate) async fn start(program: &WorkerProgram, limits: &WorkerLimits) -> Result<Self, String> {
        let (program, limits) = (program.clone(), *limits);
        let spawned = tokio::task::spawn_blocking(move || WorkerProcess::spawn(&program, &limits)).await;
        let mut process = spawned.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let channel = process.take_channel().ok_or("the worker has no channel")?;
        let stream = UnixStream::from(channel);
        stream.set_nonblocking(true).map_err(|error| error.to_string())?;
        let stream = watch(stream, Interest::READABLE).map_err(|error| error.to_string())?;
        let mut worker = Self { process: Some(process), stream, buffer: Vec::new(), loaded: HashSet::new(), used: false };
        match worker.receive(FRAME_SLACK).await {
            Ok(Response::Ready) => Ok(worker),
            Ok(_) => Err("a worker spoke before it was confined".into()),
            Err(Lost::Died { cause: Cause::Unconfined, .. }) => {
                Err("a worker could not be confined and refused to serve: the system must allow seccomp filters, and \
                     `run_if_worker` must come first in `main`, before there are other threads"
                    .into())
            }
            Err(_) => Err("a worker ended before it was ready".into()),
        }
    }

    /// Adds what the worker must know before it can run `script`.
    pub(crate) fn load(&mut self, script: &Script, frames: &mut Vec<u8>) -> Result<(), WireError> {
        if !self.loaded.insert(script.number) {
            return Ok(());
        }
        let request =
            Request::Load { script: script.number, kind: script.kind, source: script.source.to_string(), linked: script.linked.to_vec() };
        push_frame(frames, &request.encode()?)
    }

    /// Sends frames that are ready to go.
    pub(crate) async fn send(&mut self, frames: &[u8]) -> Result<(), Lost> {
        match write_all(self.stream.get_ref(), frames).await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.death().await),
        }
    }

    /// The next frame; one larger than `max_bytes` is not read.
    pub(crate) async fn receive(&mut self, max_bytes: u64) -> Result<Response, Lost> {
        let limit = usize::try_from(max_bytes.saturating_add(FRAME_SLACK)).unwrap_or(MAX_FRAME).min(MAX_FRAME);
        loop {
            if let Some((length, rest)) = self.buffer.split_first_chunk::<4>() {
                let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
                if length > limit {
                    self.kill();
                    return Err(Lost::Oversized);
                }
                if let Some(frame) = rest.get(..length) {
                    let response = Response::decode(frame);
                    self.buffer.drain(..4 + length);
                    return response.map_err(|_| {
                        self.kill();
                        Lost::Died { cause: Cause::Other, part: None }
                    });
                }
                self.buffer.reserve((length + 4).saturating_sub(self.buffer.len()));
            }
            // Cancellation between reads loses nothing: what was read is in the buffer.
            match self.read_some().await {
                Ok(0) => return Err(self.death().await),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.death().await),
            }
        }
    }

    /// Waits for bytes and appends them to the buffer; says how many there were.
    async fn read_some(&mut self) -> io::Result<usize> {
        loop {
            let mut ready = self.stream.readable().await?;
            let held = self.buffer.len();
            self.buffer.resize(held + CHUNK, 0);
            let read = ready.try_io(|stream| stream.get_ref().read(&mut self.buffer[held..]));
            self.buffer.truncate(held + read.as_ref().ok().and_then(|read| read.as_ref().ok()).copied().unwrap_or_default());
            if let Ok(read) = read {
                // Less than was asked for is all there is; what comes later is announced anew.
                if matches!(read, Ok(count) if count < CHUNK) {
                    ready.clear_ready();
                }
                return read;
            }
        }
    }

    /// Processor time used over its life.
    pub(crate) fn cpu_time(&self) -> Duration {
        self.process.as_ref().and_then(WorkerProcess::cpu_time).unwrap_or_default()
    }

    /// Whether it says nothing while nobody asks. One that does would be heard as the answer to somebody else's request.
    pub(crate) fn is_silent(&self) -> bool {
        let unheard = self.stream.get_ref().read(&mut [0; 1]);
        self.buffer.is_empty() && unheard.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    fn kill(&self) {
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// Ends a worker that is stuck; it may say at which part.
    pub(crate) async fn stop(&self) -> Option<usize> {
        if let Some(process) = &self.process {
            process.stop();
        }
        match self.death().await {
            Lost::Died { part, .. } => part,
            _ => None,
        }
    }

    async fn death(&self) -> Lost {
        let until = tokio::time::Instant::now() + DEATH_WAIT;
        loop {
            if let Some(death) = self.process.as_ref().and_then(WorkerProcess::try_reap) {
                return Lost::Died { cause: death.cause(), part: death.part() };
            }
            if tokio::time::Instant::now() >= until {
                self.kill();
                return Lost::Died { cause: Cause::Other, part: None };
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }
}

impl Drop for Worker {
    /// Kills at once, and lets another thread wait for the end: a large process takes a while to be gone.
    fn drop(&mut self) {
        self.kill();
        let process = self.process.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(process));
        }
    }
}

/// Registers a socket for one direction.
#[expect(deprecated, reason = "the socket is owned and stays open, which is what the unsafe form wants promised")]
fn watch(stream: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    AsyncFd::with_interest(stream, interest)
}

/// Writes everything. Only a frame larger than what the socket holds has to wait for the worker to read.
async fn write_all(mut stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let room = watch(stream.try_clone()?, Interest::WRITABLE)?;
                room.writable().await?.retain_ready();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Appends a frame with its length.
pub(crate) fn push_frame(frames: &mut Vec<u8>, frame: &[u8]) -> Result<(), WireError> {
    let length = u32::try_from(frame.len()).map_err(|_| WireError::TooLarge)?;
    if frame.len() > MAX_FRAME {
        return Err(WireError::TooLarge);
    }
    frames.extend_from_slice(&length.to_le_bytes());
    frames.extend_from_slice(frame);
    Ok(())
}
