//! One live worker: its process, its channel, and the scripts it has loaded.

use super::protocol::{HEADER, MAX_FRAME, Request, Response, header, push_frame};
use super::script::Script;
use super::wire::WireError;
use std::collections::HashSet;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tool_harness_sandbox::process::{
    Channel, DeathCause, WorkerLimits, WorkerProcess, WorkerProgram,
};

/// How long a worker may take to exit after its channel closed or it was asked to stop.
const DEATH_WAIT: Duration = Duration::from_millis(30);
/// Bytes of a frame beyond the result it carries.
const FRAME_SLACK: u64 = 4096;

/// Bytes per read.
const CHUNK: usize = 16 << 10;

/// How long a thread waits for the only active worker before it turns to other work.
const PATIENCE: Duration = Duration::from_micros(200);

/// A worker process with its channel.
#[derive(Debug)]
pub(crate) struct Worker {
    process: Option<WorkerProcess>,
    reader: PipeReader,
    writer: File,
    /// Bytes that were read but not yet parsed.
    buffer: Vec<u8>,
    chunk: Box<[u8]>,
    loaded: HashSet<u32>,
    tickets: RandomState,
    asked: u64,
}

/// Why a worker will not answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkerLoss {
    /// It died, or was killed because it broke the protocol.
    Died {
        /// The cause of its death.
        cause: DeathCause,
        /// The part of the request it was working on, if it said so.
        part: Option<usize>,
    },
    /// It sent a frame larger than it may.
    Oversized,
    /// A request to it cannot be encoded.
    Unsendable,
}

impl Worker {
    /// Starts a worker and waits until it is confined.
    pub(crate) async fn start(
        program: &WorkerProgram,
        limits: &WorkerLimits,
    ) -> Result<Self, String> {
        let (program, limits) = (program.clone(), *limits);
        let spawned =
            tokio::task::spawn_blocking(move || WorkerProcess::spawn(&program, &limits)).await;
        Self::adopt(
            spawned
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())?,
        )
        .await
    }

    /// Takes over a started worker and waits until it is confined.
    pub(crate) async fn adopt(mut process: WorkerProcess) -> Result<Self, String> {
        let channel = process.take_channel().ok_or("the worker has no channel")?;
        let unwatched = |error: io::Error| error.to_string();
        channel.set_nonblocking().map_err(unwatched)?;
        let Channel { reader, writer } = channel;
        let mut worker = Self {
            process: Some(process),
            reader: PipeReader::new(reader),
            writer,
            buffer: Vec::new(),
            chunk: vec![0; CHUNK].into_boxed_slice(),
            loaded: HashSet::new(),
            tickets: RandomState::new(),
            asked: 0,
        };
        match worker.receive(FRAME_SLACK).await {
            Ok(Response::Ready) => Ok(worker),
            Ok(_) => Err("a worker spoke before it was confined".into()),
            Err(WorkerLoss::Died { cause: DeathCause::Unconfined, .. }) => {
                Err("a worker could not be confined and refused to serve: the system must allow seccomp filters, and \
                     `run_if_worker` must come first in `main`, before there are other threads"
                    .into())
            }
            Err(_) => Err("a worker ended before it was ready".into()),
        }
    }

    /// Begins another request. What the worker still sends for the last one is ignored.
    pub(crate) fn begin(&mut self) {
        self.asked += 1;
    }

    /// The ticket of the current request. It is keyed with a secret, so that a worker cannot know
    /// the next one. A worker announces itself with ticket zero.
    fn ticket(&self) -> u64 {
        if self.asked == 0 {
            0
        } else {
            self.tickets.hash_one(self.asked)
        }
    }

    /// Appends a frame of the current request.
    pub(crate) fn push(&self, frame: &[u8], frames: &mut Vec<u8>) -> Result<(), WireError> {
        push_frame(frames, self.ticket(), frame)
    }

    /// Appends what the worker needs before it can run `script`.
    pub(crate) fn load(&mut self, script: &Script, frames: &mut Vec<u8>) -> Result<(), WireError> {
        if !self.loaded.insert(script.number) {
            return Ok(());
        }
        let request = Request::Load {
            script: script.number,
            kind: script.kind,
            source: script.source.to_string(),
            linked: script.linked.to_vec(),
        };
        self.push(&request.encode()?, frames)
    }

    /// Sends encoded frames.
    pub(crate) async fn send(&mut self, frames: &[u8]) -> Result<(), WorkerLoss> {
        let mut rest = frames;
        while !rest.is_empty() {
            match self.writer.write(rest) {
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait_for_room().await?,
                Err(_) => return Err(self.death().await),
            }
        }
        Ok(())
    }

    /// Sends frames to a worker while others run, too.
    pub(crate) async fn send_among_others(&mut self, frames: &[u8]) -> Result<(), WorkerLoss> {
        if let Some(process) = self.process.as_mut() {
            process.unpin();
        }
        self.send(frames).await
    }

    /// Sends frames to the only active worker and waits briefly for the answer, without letting
    /// this thread do anything else.
    pub(crate) async fn send_alone(&mut self, frames: &[u8]) -> Result<(), WorkerLoss> {
        let Some(process) = self.process.as_mut() else {
            return self.send(frames).await;
        };
        let reader = self.reader.unwatched();
        let writer = &mut self.writer;
        let sent = process.ask_on_one_core(reader, PATIENCE, || writer.write(frames));
        match sent {
            Ok(count) if count == frames.len() => Ok(()),
            Ok(count) => self.send(&frames[count..]).await,
            // The same error comes up again there.
            Err(_) => self.send(frames).await,
        }
    }

    /// Waits until more can be written, which happens only for frames larger than the pipe. The
    /// worker may itself be blocked on writing, so its output is read meanwhile; it may also be
    /// gone.
    async fn wait_for_room(&mut self) -> Result<(), WorkerLoss> {
        let room = self
            .writer
            .try_clone()
            .and_then(|writer| watch(writer, Interest::WRITABLE));
        let Ok(room) = room else {
            return Err(self.death().await);
        };
        let read = tokio::select! {
            _ = room.writable() => return Ok(()),
            read = self.read_some() => read,
        };
        if self.buffer.len() > MAX_FRAME {
            // It writes without reading.
            self.kill();
            return Err(WorkerLoss::Died {
                cause: DeathCause::Other,
                part: None,
            });
        }
        match read {
            Ok(0) => Err(self.death().await),
            _ => Ok(()),
        }
    }

    /// The next frame; one larger than `max_bytes` is not read.
    pub(crate) async fn receive(&mut self, max_bytes: u64) -> Result<Response, WorkerLoss> {
        let limit = usize::try_from(max_bytes.saturating_add(FRAME_SLACK))
            .unwrap_or(MAX_FRAME)
            .min(MAX_FRAME);
        loop {
            if let Some((length, ticket)) = header(&self.buffer) {
                if length > limit {
                    self.kill();
                    return Err(WorkerLoss::Oversized);
                }
                if let Some(frame) = self.buffer.get(HEADER..HEADER + length) {
                    let response = (ticket == self.ticket()).then(|| Response::decode(frame));
                    self.buffer.drain(..HEADER + length);
                    let Some(response) = response else { continue };
                    return response.map_err(|_| {
                        self.kill();
                        WorkerLoss::Died {
                            cause: DeathCause::Other,
                            part: None,
                        }
                    });
                }
                self.buffer
                    .reserve((HEADER + length).saturating_sub(self.buffer.len()));
            }
            // Cancellation loses nothing, since all bytes are in the buffer.
            match self.read_some().await {
                Ok(0) => return Err(self.death().await),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(self.death().await),
            }
        }
    }

    /// Waits for bytes, appends them to the buffer and returns how many there were.
    async fn read_some(&mut self) -> io::Result<usize> {
        let read = self.reader.read(&mut self.chunk).await?;
        self.buffer
            .extend_from_slice(self.chunk.get(..read).unwrap_or_default());
        Ok(read)
    }

    /// The processor time of its whole life.
    pub(crate) fn cpu_time(&self) -> Duration {
        self.process
            .as_ref()
            .and_then(WorkerProcess::cpu_time)
            .unwrap_or_default()
    }

    /// Whether it sends nothing between requests. Such output would be taken as the answer to the
    /// next one.
    pub(crate) fn is_silent(&self) -> bool {
        let unheard = (&*self.reader.file).read(&mut [0; 1]);
        self.buffer.is_empty()
            && unheard.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    fn kill(&self) {
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// Kills a worker that hangs. It may report which part it was working on.
    pub(crate) async fn stop(&self) -> Option<usize> {
        if let Some(process) = &self.process {
            process.stop();
        }
        match self.death().await {
            WorkerLoss::Died { part, .. } => part,
            _ => None,
        }
    }

    async fn death(&self) -> WorkerLoss {
        let until = tokio::time::Instant::now() + DEATH_WAIT;
        loop {
            if let Some(death) = self.process.as_ref().and_then(WorkerProcess::try_reap) {
                return WorkerLoss::Died {
                    cause: death.cause(),
                    part: death.part(),
                };
            }
            if tokio::time::Instant::now() >= until {
                self.kill();
                return WorkerLoss::Died {
                    cause: DeathCause::Other,
                    part: None,
                };
            }
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    }
}

impl Drop for Worker {
    /// Kills it at once, and lets another thread wait for its end, since a large process takes a
    /// while to exit.
    fn drop(&mut self) {
        self.kill();
        let process = self.process.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(process));
        }
    }
}

/// The output of a worker. The runtime watches it only after a first wait, because each message to
/// a watched pipe also wakes the watching thread.
#[derive(Debug)]
struct PipeReader {
    file: Arc<File>,
    watched: Option<AsyncFd<Arc<File>>>,
}

impl PipeReader {
    fn new(file: File) -> Self {
        Self {
            file: Arc::new(file),
            watched: None,
        }
    }

    /// The pipe, no longer watched.
    fn unwatched(&mut self) -> &File {
        self.watched = None;
        &self.file
    }

    async fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        let reader = match &mut self.watched {
            Some(watched) => watched,
            none => {
                match (&*self.file).read(chunk) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    read => return read,
                }
                none.insert(watch(Arc::clone(&self.file), Interest::READABLE)?)
            }
        };
        loop {
            let mut ready = reader.readable().await?;
            if let Ok(read) = ready.try_io(|reader| (&**reader.get_ref()).read(chunk)) {
                // A short read has drained the pipe; later output is announced anew.
                if matches!(read, Ok(count) if count < chunk.len()) {
                    ready.clear_ready();
                }
                return read;
            }
        }
    }
}

/// Registers one end of a pipe with the runtime.
#[expect(
    deprecated,
    reason = "the pipe is owned and stays open, which is what the unsafe form wants promised"
)]
fn watch<F: AsRawFd>(end: F, interest: Interest) -> io::Result<AsyncFd<F>> {
    AsyncFd::with_interest(end, interest)
}
