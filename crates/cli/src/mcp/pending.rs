//! The requests that have no answer yet: those that are served, and those that wait because the
//! client sends faster than it reads, or than its calls end. Only so many of either are kept in
//! memory; then nothing more is read from the client, until there is room.

use super::output::ProtocolOutput;
use super::read::{self, Incoming, InputLine};
use crate::lock;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The most requests that are served at once. Pings are served beyond it, up to twice as many, so
/// that a busy server does not look dead.
const MAX_SERVED: usize = 512;
/// The most bytes of requests that are served at once; a single request may have more.
const MAX_SERVED_BYTES: usize = 16 << 20;
/// The most bytes of requests that wait; a single request may have more.
const MAX_WAITING_BYTES: usize = 8 << 20;
/// What a waiting request costs beyond its bytes.
const WAITING: usize = 128;
/// The most bytes of answers that the client has not read; then no further request is started.
const MAX_UNREAD_BYTES: usize = 8 << 20;
/// The most messages that are ready to be taken.
const MAX_READY: usize = 256;

/// What became of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Intake {
    /// It will be served.
    Taken,
    /// It has the id of a request that has no answer yet, so the client could not tell their
    /// answers apart.
    IdInUse,
    /// Nobody serves it any more.
    Closed,
}

/// The requests of one connection.
#[derive(Clone)]
pub(super) struct PendingRequests(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Something is ready, was answered, or came to its end.
    changed: Notify,
    /// There is room for more.
    room: Condvar,
    output: ProtocolOutput,
}

#[derive(Default)]
struct State {
    open: HashMap<RequestId, Place>,
    served: usize,
    served_bytes: usize,
    ready: VecDeque<ClientJsonRpcMessage>,
    /// The lines of requests that wait, in their order. As bytes, because a parsed message takes
    /// many times the room.
    waiting: BTreeMap<u64, Vec<u8>>,
    waiting_bytes: usize,
    next: u64,
    /// When the input ended, or the last request was started after that.
    ended: Option<Instant>,
    closed: bool,
}

/// Where a request is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Waiting(u64),
    /// It is served, and its line had so many bytes.
    Served(usize),
}

impl State {
    fn has_room_for(&self, bytes: usize, is_ping: bool) -> bool {
        let most = MAX_SERVED << u32::from(is_ping);
        self.served < most && (self.served == 0 || self.served_bytes + bytes <= MAX_SERVED_BYTES)
    }

    fn serve(&mut self, id: RequestId, bytes: usize, message: ClientJsonRpcMessage) {
        self.open.insert(id, Place::Served(bytes));
        self.served += 1;
        self.served_bytes += bytes;
        self.ready.push_back(message);
    }

    /// Moves the first request that waits to those that are served, if there is room.
    fn start_next(&mut self) -> bool {
        let Some(next) = self.waiting.first_entry() else {
            return false;
        };
        let bytes = next.get().len();
        if !self.has_room_for(bytes, false) {
            return false;
        }
        let Some((_, line)) = self.waiting.pop_first() else {
            return false;
        };
        self.waiting_bytes -= bytes + WAITING;
        // It was parsed before, so it parses again.
        if let Incoming::Message(message) = read::read(&InputLine::Whole(line))
            && let JsonRpcMessage::Request(request) = &*message
        {
            let id = request.id.clone();
            self.serve(id, bytes, *message);
        }
        self.ended = self.ended.map(|_| Instant::now());
        true
    }

    fn forget(&mut self, id: &RequestId) {
        match self.open.remove(id) {
            Some(Place::Waiting(at)) => {
                let line = self.waiting.remove(&at).unwrap_or_default();
                self.waiting_bytes -= line.len() + WAITING;
            }
            Some(Place::Served(bytes)) => {
                self.served -= 1;
                self.served_bytes -= bytes;
            }
            None => {}
        }
    }
}

impl PendingRequests {
    pub(super) fn new(output: ProtocolOutput) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::default(),
            changed: Notify::new(),
            room: Condvar::new(),
            output,
        }))
    }

    /// Whether a request with this id has no answer yet.
    pub(super) fn contains(&self, id: &RequestId) -> bool {
        lock(&self.0.state).open.contains_key(id)
    }

    /// Takes a message of the client that came as this line. Blocks while there is no room for it.
    pub(super) fn take(&self, message: ClientJsonRpcMessage, line: InputLine) -> Intake {
        let InputLine::Whole(line) = line else {
            // It has no message.
            return Intake::Taken;
        };
        let is_request = matches!(message, JsonRpcMessage::Request(_));
        let is_full = |state: &mut State| {
            let waits = is_request && !state.waiting.is_empty();
            let room = MAX_WAITING_BYTES.saturating_sub(state.waiting_bytes);
            !state.closed
                && (state.ready.len() >= MAX_READY || (waits && line.len() + WAITING > room))
        };
        let state = lock(&self.0.state);
        let state = self.0.room.wait_while(state, is_full);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return Intake::Closed;
        }
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                if state.open.contains_key(&id) {
                    return Intake::IdInUse;
                }
                let is_ping = matches!(request.request, ClientRequest::PingRequest(_));
                let is_next = state.waiting.is_empty() || is_ping;
                if is_next && self.is_read() && state.has_room_for(line.len(), is_ping) {
                    state.serve(id, line.len(), message);
                } else {
                    let at = state.next;
                    state.next += 1;
                    state.open.insert(id, Place::Waiting(at));
                    state.waiting_bytes += line.len() + WAITING;
                    state.waiting.insert(at, line);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                // Nobody else knows of a request that waits.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                    && let Some(Place::Waiting(_)) = state.open.get(id)
                {
                    state.forget(id);
                } else {
                    state.ready.push_back(message);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                state.ready.push_back(message);
            }
        }
        drop(state);
        self.0.changed.notify_waiters();
        Intake::Taken
    }

    /// No more messages will come.
    pub(super) fn end(&self) {
        lock(&self.0.state).ended = Some(Instant::now());
        self.0.changed.notify_waiters();
    }

    /// Nobody takes messages any more.
    pub(super) fn close(&self) {
        lock(&self.0.state).closed = true;
        self.0.room.notify_all();
    }

    /// Frees the id of a request that was answered or cancelled.
    pub(super) fn release(&self, id: &RequestId) {
        lock(&self.0.state).forget(id);
        self.0.changed.notify_waiters();
    }

    /// The next message to serve; none after the last, when every request has its answer, or when
    /// the client has not read for so long after its input ended.
    pub(super) async fn next(&self, patience: Duration) -> Option<ClientJsonRpcMessage> {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            let mut written = pin!(self.0.output.written());
            changed.as_mut().enable();
            written.as_mut().enable();
            let ended = {
                let mut state = lock(&self.0.state);
                if state.ready.is_empty() && self.is_read() {
                    state.start_next();
                }
                if let Some(message) = state.ready.pop_front() {
                    self.0.room.notify_all();
                    return Some(message);
                }
                if state.ended.is_some() && state.open.is_empty() {
                    return None;
                }
                state.ended
            };
            let any = async {
                tokio::select! {
                    () = changed => {}
                    () = written => {}
                }
            };
            match ended {
                None => any.await,
                Some(ended) => tokio::time::timeout_at(ended + patience, any).await.ok()?,
            }
        }
    }

    /// Waits for the answer to a request.
    pub(super) async fn answered(&self, id: &RequestId) {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if !self.contains(id) {
                return;
            }
            changed.await;
        }
    }

    /// Whether the client reads its answers.
    fn is_read(&self) -> bool {
        self.0.output.unread() <= MAX_UNREAD_BYTES
    }
}
