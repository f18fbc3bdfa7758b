//! What flows to a command and from it.

use super::capture::Capture;
use super::{Captured, Output, Stdin, Stream};
use crate::plan::Limits;
use std::future::pending;
use std::os::fd::AsFd as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// Where output goes.
pub(super) struct Taken {
    out: Capture,
    err: Capture,
    output: Output,
}

impl Taken {
    pub(super) fn new(limits: &Limits, output: Output) -> Self {
        Self { out: Capture::new(limits.output_bytes), err: Capture::new(limits.output_bytes), output }
    }

    /// Takes a chunk; `false` when nobody wants more.
    pub(super) async fn take(&mut self, stream: Stream, chunk: &[u8]) -> bool {
        match &self.output {
            Output::Stream(receiver) => receiver.send((stream, chunk.to_vec())).await.is_ok(),
            Output::Capture => {
                match stream {
                    Stream::Out => self.out.take(chunk),
                    Stream::Err => self.err.take(chunk),
                }
                true
            }
        }
    }

    /// Takes what is left in a pipe whose writers are gone. One that was given to somebody else is not waited for.
    pub(super) async fn drain(&mut self, stream: Stream, from: &pipe::Receiver, space: &mut [u8], is_open: bool) {
        let mut is_open = is_open;
        while is_open {
            // Asked of the kernel, because the runtime may not have heard yet that there is something.
            is_open = match rustix::io::read(from.as_fd(), &mut *space) {
                Ok(count @ 1..) => self.take(stream, &space[..count]).await,
                Err(rustix::io::Errno::INTR) => true,
                _ => false,
            };
        }
    }

    pub(super) fn is_kept(&self) -> bool {
        matches!(self.output, Output::Capture)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.out.bytes() + self.err.bytes()
    }

    pub(super) fn finish(self) -> (Captured, Captured) {
        (self.out.finish(), self.err.finish())
    }
}

/// What a command is given to read.
pub(super) struct Input {
    pipe: Option<pipe::Sender>,
    waiting: Vec<u8>,
    done: usize,
    more: Option<mpsc::Receiver<Vec<u8>>>,
}

impl Input {
    pub(super) fn new(stdin: Stdin, pipe: Option<pipe::Sender>) -> Self {
        let (waiting, more) = match stdin {
            Stdin::Empty => (Vec::new(), None),
            Stdin::Bytes(bytes) => (bytes, None),
            Stdin::Stream(more) => (Vec::new(), Some(more)),
        };
        Self { pipe, waiting, done: 0, more }
    }

    /// Passes a part on. Never returns when there is nothing left; loses nothing when it is not waited for.
    pub(super) async fn pass(&mut self) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
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
