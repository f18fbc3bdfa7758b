//! Passing output on from a command's pipes, and input to them.

use super::capture::Capture;
use crate::plan::Limits;
use crate::process::command::{CapturedOutput, Output, Stdin, Stream};
use std::future::pending;
use std::os::fd::AsFd as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{self, error::TrySendError};

/// Where output goes.
pub(crate) struct OutputSink {
    out: Capture,
    err: Capture,
    output: Output,
    /// A chunk that its receiver has no room for yet.
    waiting: Option<(Stream, Vec<u8>)>,
    /// Whether the receiver wants more.
    is_wanted: bool,
}

impl OutputSink {
    pub(crate) fn new(limits: &Limits, output: Output) -> Self {
        let (out, err) = (
            Capture::new(limits.output_bytes),
            Capture::new(limits.output_bytes),
        );
        Self {
            out,
            err,
            output,
            waiting: None,
            is_wanted: true,
        }
    }

    /// Whether a chunk may be read now. A chunk that is not read stays in the pipe, and slows the
    /// command down.
    pub(crate) fn has_room(&self) -> bool {
        self.is_wanted && self.waiting.is_none()
    }

    /// Takes a chunk; there must be room.
    pub(crate) fn take(&mut self, stream: Stream, chunk: &[u8]) {
        match (&self.output, stream) {
            (Output::Stream(_), _) => {
                self.waiting = Some((stream, chunk.to_vec()));
                self.offer();
            }
            (Output::Capture, Stream::Out) => self.out.take(chunk),
            (Output::Capture, Stream::Err) => self.err.take(chunk),
        }
    }

    /// Passes on the waiting chunk, if there is room now.
    fn offer(&mut self) {
        let (Output::Stream(receiver), Some(chunk)) = (&self.output, self.waiting.take()) else {
            return;
        };
        match receiver.try_send(chunk) {
            Ok(()) => {}
            Err(TrySendError::Full(chunk)) => self.waiting = Some(chunk),
            Err(TrySendError::Closed(_)) => self.is_wanted = false,
        }
    }

    /// Passes on the waiting chunk. Never returns without one; cancel safe.
    pub(crate) async fn pass(&mut self) {
        let (Output::Stream(receiver), true) = (&self.output, self.waiting.is_some()) else {
            return pending().await;
        };
        match receiver.reserve().await {
            Ok(place) => {
                if let Some(chunk) = self.waiting.take() {
                    place.send(chunk);
                }
            }
            Err(_) => (self.waiting, self.is_wanted) = (None, false),
        }
    }

    /// Takes the rest of a pipe whose writers are gone. Does not wait for one that another process
    /// still holds open; waits for a receiver without room until the caller drops this.
    pub(crate) async fn drain(&mut self, stream: Stream, from: &pipe::Receiver, space: &mut [u8]) {
        loop {
            while self.waiting.is_some() {
                self.pass().await;
            }
            // Asks the kernel, because the runtime may not know yet that the pipe is readable.
            match rustix::io::read(from.as_fd(), &mut *space) {
                Ok(count @ 1..) if self.is_wanted => self.take(stream, &space[..count]),
                Err(rustix::io::Errno::INTR) => {}
                _ => return,
            }
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.output, Output::Capture)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.out.bytes() + self.err.bytes()
    }

    pub(crate) fn finish(self) -> (CapturedOutput, CapturedOutput) {
        (self.out.finish(), self.err.finish())
    }
}

/// The input of a command.
pub(crate) struct InputFeed {
    pipe: Option<pipe::Sender>,
    waiting: Vec<u8>,
    done: usize,
    more: Option<mpsc::Receiver<Vec<u8>>>,
}

impl InputFeed {
    pub(crate) fn new(stdin: Stdin, pipe: Option<pipe::Sender>) -> Self {
        let (waiting, more) = match stdin {
            Stdin::Empty => (Vec::new(), None),
            Stdin::Bytes(bytes) => (bytes, None),
            Stdin::Stream(more) => (Vec::new(), Some(more)),
        };
        Self {
            pipe,
            waiting,
            done: 0,
            more,
        }
    }

    /// Writes a part of it. Never returns if nothing is left; cancel safe.
    pub(crate) async fn pass(&mut self) {
        let Some(pipe) = &mut self.pipe else {
            return pending().await;
        };
        if self.done < self.waiting.len() {
            match pipe.write(&self.waiting[self.done..]).await {
                Ok(count) => self.done += count,
                Err(_) => self.pipe = None,
            }
            return;
        }
        let next = match &mut self.more {
            Some(more) => more.recv().await,
            None => None,
        };
        match next {
            Some(next) => (self.waiting, self.done) = (next, 0),
            None => self.pipe = None,
        }
    }
}
