//! The worker's side of the channel: one request after another until the harness closes it.

use crate::evaluate::{Channel, Names, Scripts, Table};
use rustix::event::{PollFd, PollFlags, poll};
use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic;
use std::rc::Rc;
use tool_harness::check::facts::ScriptKind;
use tool_harness::worker::protocol::{MAX_FRAME, Request, RequestHead, Response};
use tool_harness::worker::wire::WireError;
use tool_harness_sandbox::process::{ExitCode, WorkerLimits, become_worker, leave};

/// Finds the facts of one source and gives them as JSON.
pub type Check = fn(ScriptKind, &str, Table) -> String;

/// Becomes a worker with these built-ins and never returns.
pub(crate) fn work(limits: &WorkerLimits, table: Table, check: Check) -> ! {
    panic::set_hook(Box::new(|panic| leave(if is_about_memory(panic.payload_as_str()) { ExitCode::Memory } else { ExitCode::Panic })));
    become_worker(limits, move || Names::prepare(table), move |names, channel| serve(names, channel, table, check))
}

/// The evaluator panics, rather than fails, when something would be larger than memory or its own counters.
fn is_about_memory(message: Option<&str>) -> bool {
    let signs = ["out of memory", "capacity overflow", "len overflow", "AlignedSize must not exceed", "memory allocation"];
    message.is_some_and(|message| signs.iter().any(|sign| message.contains(sign)))
}

fn serve(names: Names, channel: OwnedFd, table: Table, check: Check) {
    let stream = Rc::new(Stream::new(channel));
    let mut scripts = Scripts::new(names, Rc::clone(&stream) as Rc<dyn Channel>);
    reply(&stream, Response::Ready.encode());
    loop {
        let frame = stream.receive();
        let Ok((head, mut rest)) = Request::decode(&frame) else { stream.malformed() };
        match head {
            RequestHead::Check { kind, source } => reply(&stream, Response::Facts(check(kind, &source, table)).encode()),
            RequestHead::Load { script, kind, source, linked } => scripts.load(script, kind, source, linked),
            RequestHead::Run { script, budget } => reply(&stream, scripts.run(script, &budget, &mut rest)),
            RequestHead::Chain { budget, event, links } => reply(&stream, scripts.chain(&event, &links, &budget, &mut rest)),
            RequestHead::Answer | RequestHead::Raise(_) => stream.malformed(),
        }
        if !rest.is_empty() {
            stream.malformed();
        }
    }
}

/// A request that could not be read, and an answer that does not fit a frame, both mean that the harness and this worker do not
/// understand each other.
fn reply(stream: &Stream, frame: Result<Vec<u8>, WireError>) {
    match frame {
        Ok(frame) => stream.send(&frame),
        Err(_) => stream.malformed(),
    }
}

/// Frames over a socket. What was read beyond one frame is kept for the next.
struct Stream {
    socket: UnixStream,
    chunk: RefCell<Box<[u8]>>,
    held: RefCell<Vec<u8>>,
    used: Cell<usize>,
    out: RefCell<Vec<u8>>,
}

const CHUNK: usize = 64 << 10;

impl Stream {
    fn new(channel: OwnedFd) -> Self {
        Self {
            socket: UnixStream::from(channel),
            chunk: RefCell::new(vec![0; CHUNK].into_boxed_slice()),
            held: RefCell::default(),
            used: Cell::new(0),
            out: RefCell::default(),
        }
    }

    /// Reads until at least `wanted` bytes are held.
    fn fill(&self, wanted: usize) {
        let mut held = self.held.borrow_mut();
        if self.used.get() > 0 {
            held.drain(..self.used.take());
            // One large frame should not be paid for until the end.
            held.shrink_to(CHUNK);
        }
        let mut chunk = self.chunk.borrow_mut();
        while held.len() < wanted {
            // A read that waits is also woken when the harness takes the last answer, and sleeps again; a poll is not.
            let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], None);
            match (&self.socket).read(&mut chunk) {
                Ok(0) => leave(ExitCode::Closed),
                Ok(count) => held.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => leave(ExitCode::Closed),
            }
        }
    }
}

impl Channel for Stream {
    fn send(&self, frame: &[u8]) {
        let Some(length) = u32::try_from(frame.len()).ok().filter(|_| frame.len() <= MAX_FRAME) else { self.malformed() };
        let mut out = self.out.borrow_mut();
        out.clear();
        out.extend(length.to_le_bytes());
        out.extend(frame);
        if (&self.socket).write_all(&out).is_err() {
            leave(ExitCode::Closed);
        }
        out.shrink_to(CHUNK);
    }

    fn receive(&self) -> Vec<u8> {
        self.fill(4);
        let length = self.held.borrow().first_chunk::<4>().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let length = usize::try_from(length).ok().filter(|&length| length <= MAX_FRAME).unwrap_or_else(|| self.malformed());
        self.fill(4 + length);
        let frame = self.held.borrow().get(4..4 + length).unwrap_or_default().to_vec();
        self.used.set(4 + length);
        frame
    }

    fn malformed(&self) -> ! {
        leave(ExitCode::Malformed)
    }
}
