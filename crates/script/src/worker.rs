//! The worker's side of the channel: it serves one request at a time until the harness hangs up.

use crate::evaluate::{BuiltinTable, FrameChannel, LoadedScripts, ScriptGlobals};
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

/// Collects the facts about one script and returns them as JSON.
pub type CheckFn = fn(ScriptKind, &str, BuiltinTable) -> String;

/// Turns this process into a worker with these built-ins.
pub(crate) fn work(limits: &WorkerLimits, table: BuiltinTable, check: CheckFn) -> ! {
    panic::set_hook(Box::new(|panic| {
        leave(if is_about_memory(panic.payload_as_str()) {
            ExitCode::Memory
        } else {
            ExitCode::Panic
        })
    }));
    become_worker(
        limits,
        move || ScriptGlobals::prepare(table),
        move |names, channel| serve(names, channel, table, check),
    )
}

/// The evaluator panics, instead of returning an error, when a value would not fit into memory or
/// into its own counters.
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

fn serve(names: ScriptGlobals, channel: process::Channel, table: BuiltinTable, check: CheckFn) {
    let stream = Rc::new(FrameStream::new(channel));
    let mut scripts = LoadedScripts::new(names, Rc::clone(&stream) as Rc<dyn FrameChannel>);
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

/// Ends the worker if the request could not be decoded or the answer does not fit into a frame: the
/// two sides disagree about the protocol.
fn reply(stream: &FrameStream, frame: Result<Vec<u8>, WireError>) {
    match frame {
        Ok(frame) => stream.send(&frame),
        Err(_) => stream.malformed(),
    }
}

/// Frames over the channel. Bytes read beyond one frame are buffered for the next.
struct FrameStream {
    channel: process::Channel,
    chunk: RefCell<Box<[u8]>>,
    buffer: RefCell<Vec<u8>>,
    /// How much of `buffer` the last frame used.
    used: Cell<usize>,
    /// Identifies the current request in every frame that answers it.
    ticket: Cell<u64>,
    out: RefCell<Vec<u8>>,
}

const CHUNK: usize = 64 << 10;

impl FrameStream {
    fn new(channel: process::Channel) -> Self {
        Self {
            channel,
            chunk: RefCell::new(vec![0; CHUNK].into_boxed_slice()),
            buffer: RefCell::default(),
            used: Cell::new(0),
            ticket: Cell::new(0),
            out: RefCell::default(),
        }
    }

    /// Reads until the buffer has at least `wanted` bytes.
    fn fill(&self, wanted: usize) {
        let mut buffer = self.buffer.borrow_mut();
        if self.used.get() > 0 {
            buffer.drain(..self.used.take());
            // One large frame must not pin its memory for the worker's lifetime.
            buffer.shrink_to(CHUNK);
        }
        let mut chunk = self.chunk.borrow_mut();
        while buffer.len() < wanted {
            match (&self.channel.reader).read(&mut chunk) {
                Ok(0) => leave(ExitCode::Closed),
                Ok(count) => buffer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => leave(ExitCode::Closed),
            }
        }
    }
}

impl FrameChannel for FrameStream {
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
        let read = header(&self.buffer.borrow()).filter(|(length, _)| *length <= MAX_FRAME);
        let (length, ticket) = read.unwrap_or_else(|| self.malformed());
        self.fill(HEADER + length);
        let frame = self
            .buffer
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
