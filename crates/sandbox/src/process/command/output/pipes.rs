//! What flows to a command and from it.

use super::capture::Capture;
use crate::plan::Limits;
use crate::process::command::{Captured, Output, Stdin, Stream};
use std::future::pending;
use std::os::fd::AsFd as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{self, error::TrySendError};

/// Where output goes.
pub(crate) struct Taken {
    out: Capture,
    err: Capture,
    output: Output,
    /// A chunk that its receiver has no room for yet.
    waiting: Option<(Stream, Vec<u8>)>,
    /// Whether anybody wants more.
    is_wanted: bool,
}

impl Taken {
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

    /// Whether a chunk may be read now. One that nobody takes stays where the command feels it: in its pipe.
    pub(crate) fn has_room(&self) -> bool {
        self.is_wanted && self.waiting.is_none()
    }

    /// Takes a chunk, for which there must be room.
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

    /// Passes on what waits, if there is room for it now.
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

    /// Passes on what waits. Never returns when nothing does; loses nothing when it is not waited for.
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

    /// Takes what is left in a pipe whose writers are gone. One that was given to somebody else is not waited for; a receiver without room
    /// is, and whoever cannot wait for him drops this.
    pub(crate) async fn drain(&mut self, stream: Stream, from: &pipe::Receiver, space: &mut [u8]) {
        loop {
            while self.waiting.is_some() {
                self.pass().await;
            }
            // Asked of the kernel, because the runtime may not have heard yet that there is something.
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

    pub(crate) fn finish(self) -> (Captured, Captured) {
        (self.out.finish(), self.err.finish())
    }
}

/// What a command is given to read.
pub(crate) struct Input {
    pipe: Option<pipe::Sender>,
    waiting: Vec<u8>,
    done: usize,
    more: Option<mpsc::Receiver<Vec<u8>>>,
}

impl Input {
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

    /// Passes a part on. Never returns when there is nothing left; loses nothing when it is not waited for.
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
