//! The worker's side of the channel: one request after another until the harness closes it.

use crate::evaluate::{Channel, Names, Scripts, Table};
use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::panic;
use std::rc::Rc;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{
    HEADER, MAX_FRAME, Request, RequestHead, Response, header, push_frame,
};
use tool_harness::worker::wire::WireError;
use tool_harness_sandbox::process::{self, ExitCode, WorkerLimits, become_worker, leave};

/// Finds the facts of one source and gives them as JSON.
pub type Check = fn(ScriptKind, &str, Table) -> String;

/// Becomes a worker with these built-ins and never returns.
pub(crate) fn work(limits: &WorkerLimits, table: Table, check: Check) -> ! {
    panic::set_hook(Box::new(|panic| {
        leave(if is_about_memory(panic.payload_as_str()) {
            ExitCode::Memory
        } else {
            ExitCode::Panic
        })
    }));
    become_worker(
        limits,
        move || Names::prepare(table),
        move |names, channel| serve(names, channel, table, check),
    )
}

/// The evaluator panics, rather than fails, when something would be larger than memory or its own counters.
fn is_about_memory(message: Option<&str>) -> bool {
    let signs = [
        "out of memory",
        "capacity overflow",
        "len overflow",
        "AlignedSize must not exceed",
        "memory allocation",
    ];
    message.is_some_and(|message| signs.iter().any(|sign| message.contains(sign)))
}

fn serve(names: Names, channel: process::Channel, table: Table, check: Check) {
    let stream = Rc::new(Stream::new(channel));
    let mut scripts = Scripts::new(names, Rc::clone(&stream) as Rc<dyn Channel>);
    reply(&stream, Response::Ready.encode());
    loop {
        let frame = stream.receive();
        let Ok((head, mut rest)) = Request::decode(&frame) else {
            stream.malformed()
        };
        match head {
            RequestHead::Check { kind, source } => reply(
                &stream,
                Response::Facts(check(kind, &source, table)).encode(),
            ),
            RequestHead::Load {
                script,
                kind,
                source,
                linked,
            } => scripts.load(script, kind, source, linked),
            RequestHead::Run { script, budget } => {
                reply(&stream, scripts.run(script, &budget, &mut rest))
            }
            RequestHead::Chain {
                budget,
                event,
                links,
            } => reply(&stream, scripts.chain(&event, &links, &budget, &mut rest)),
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

/// Frames over the channel. What was read beyond one frame is kept for the next.
struct Stream {
    channel: process::Channel,
    chunk: RefCell<Box<[u8]>>,
    held: RefCell<Vec<u8>>,
    used: Cell<usize>,
    /// The mark of the request at hand.
    ticket: Cell<u64>,
    out: RefCell<Vec<u8>>,
}

const CHUNK: usize = 64 << 10;

impl Stream {
    fn new(channel: process::Channel) -> Self {
        Self {
            channel,
            chunk: RefCell::new(vec![0; CHUNK].into_boxed_slice()),
            held: RefCell::default(),
            used: Cell::new(0),
            ticket: Cell::new(0),
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
            match (&self.channel.reader).read(&mut chunk) {
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
        let mut out = self.out.borrow_mut();
        out.clear();
        if push_frame(&mut out, self.ticket.get(), frame).is_err() {
            self.malformed();
        }
        if (&self.channel.writer).write_all(&out).is_err() {
            leave(ExitCode::Closed);
        }
        out.shrink_to(CHUNK);
    }

    fn receive(&self) -> Vec<u8> {
        self.fill(HEADER);
        let read = header(&self.held.borrow()).filter(|(length, _)| *length <= MAX_FRAME);
        let (length, ticket) = read.unwrap_or_else(|| self.malformed());
        self.fill(HEADER + length);
        let frame = self
            .held
            .borrow()
            .get(HEADER..HEADER + length)
            .unwrap_or_default()
            .to_vec();
        self.used.set(HEADER + length);
        self.ticket.set(ticket);
        frame
    }

    fn malformed(&self) -> ! {
        leave(ExitCode::Malformed)
    }
}
