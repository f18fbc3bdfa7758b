//! Events: what happened in a call, and who is told.

mod field;
mod kind;
mod listener;

pub(crate) use field::Quoted;
pub use kind::{EventKind, EventName, LogLevel};
pub(crate) use listener::*;

use serde_json::{Map, Value, json};
use std::cell::OnceCell;
use std::time::SystemTime;

/// One event as it happens. What happened is worked out when a sink first asks, and then shared.
pub struct EventRef<'a> {
    /// The event's name.
    pub name: EventName,
    /// Where it happened.
    pub origin: EventOrigin<'a>,
    /// Its number among the events of the engine, from 1. Events of calls that run at once may
    /// arrive in another order. 0 for a notice to one sink and in a dry run.
    pub sequence: u64,
    kind: LazyKind<'a>,
    time: OnceCell<SystemTime>,
}

/// The session, run, turn and call that an event belongs to.
#[derive(Clone, Copy, Debug)]
pub struct EventOrigin<'a> {
    /// The session.
    pub session_id: &'a str,
    /// The run.
    pub run_id: &'a str,
    /// The turn; a call outside any turn is a turn of its own.
    pub turn_id: &'a str,
    /// The call, if the event belongs to one.
    pub call_id: Option<&'a str>,
}

enum LazyKind<'a> {
    Made(&'a EventKind),
    Later {
        make: &'a dyn Fn() -> EventKind,
        made: OnceCell<Box<EventKind>>,
    },
}

impl<'a> EventRef<'a> {
    /// An event that happens now, and is worked out if a sink asks.
    pub(crate) fn lazy(
        name: EventName,
        origin: EventOrigin<'a>,
        sequence: u64,
        make: &'a dyn Fn() -> EventKind,
    ) -> Self {
        let made = OnceCell::new();
        Self {
            name,
            origin,
            sequence,
            kind: LazyKind::Later { make, made },
            time: OnceCell::new(),
        }
    }

    /// An event that happens now and is already worked out.
    pub(crate) fn made(kind: &'a EventKind, origin: EventOrigin<'a>, sequence: u64) -> Self {
        Self {
            name: kind.name(),
            origin,
            sequence,
            kind: LazyKind::Made(kind),
            time: OnceCell::new(),
        }
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> &EventKind {
        match &self.kind {
            LazyKind::Made(kind) => kind,
            LazyKind::Later { make, made } => made.get_or_init(|| Box::new(make())),
        }
    }

    /// When it happened; the clock is read on first use.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        *self.time.get_or_init(SystemTime::now)
    }

    /// An owned copy of the event.
    #[must_use]
    pub fn to_event(&self) -> Event {
        Event {
            kind: self.kind().clone(),
            time: self.time(),
            sequence: self.sequence,
            session_id: self.origin.session_id.to_owned(),
            run_id: self.origin.run_id.to_owned(),
            turn_id: self.origin.turn_id.to_owned(),
            call_id: self.origin.call_id.map(str::to_owned),
        }
    }
}

/// One event of the record.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// When it happened.
    pub time: SystemTime,
    /// Its number among the events of the engine, from 1. Events of calls that run at once may
    /// arrive in another order. 0 for a notice to one sink and in a dry run.
    pub sequence: u64,
    /// The session.
    pub session_id: String,
    /// The run.
    pub run_id: String,
    /// The turn; a call outside any turn is a turn of its own.
    pub turn_id: String,
    /// The call, if the event belongs to one.
    pub call_id: Option<String>,
}

impl Event {
    /// The event's name as text, with the full name of a custom event.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.kind {
            EventKind::Custom { event, .. } => event,
            kind => kind.name().text(),
        }
    }

    /// The event's own fields, as JSON.
    #[must_use]
    pub fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        self.kind.write(&mut fields);
        fields
    }

    /// One JSON object: `event`, `time_ms`, `sequence`, `session_id`, `run_id`, `turn_id`,
    /// `call_id`, then the event's own fields.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let since = self.time.duration_since(SystemTime::UNIX_EPOCH);
        let millis = since.unwrap_or_default().as_millis();
        let mut object = Map::new();
        for (key, value) in [
            ("event", json!(self.name())),
            ("time_ms", json!(u64::try_from(millis).unwrap_or(u64::MAX))),
            ("sequence", json!(self.sequence)),
            ("session_id", json!(self.session_id)),
            ("run_id", json!(self.run_id)),
            ("turn_id", json!(self.turn_id)),
        ] {
            object.insert(key.to_owned(), value);
        }
        if let Some(call_id) = &self.call_id {
            object.insert("call_id".to_owned(), json!(call_id));
        }
        self.kind.write(&mut object);
        Value::Object(object)
    }

    /// The event as a reference, for a sink that receives it later.
    #[must_use]
    pub fn as_it_happened(&self) -> EventRef<'_> {
        let origin = EventOrigin {
            session_id: &self.session_id,
            run_id: &self.run_id,
            turn_id: &self.turn_id,
            call_id: self.call_id.as_deref(),
        };
        EventRef {
            time: OnceCell::from(self.time),
            ..EventRef::made(&self.kind, origin, self.sequence)
        }
    }
}

/// Takes events. A sink that panics misses the event, and the call continues.
pub trait Sink: Send + Sync {
    /// Takes one event.
    fn record(&self, event: &EventRef<'_>);

    /// How events reach it.
    fn delivery(&self) -> Delivery;

    /// Whether it wants the payloads of calls. Left out by default.
    fn payloads(&self) -> Payloads {
        Payloads::LeftOut
    }
}

/// How events reach a sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// On the path, while the call waits: for sinks that never block, such as counters.
    OnThePath,
    /// Through a separate thread, from a queue of 1,024 events. When the queue is full, a call
    /// waits for room right after it starts, as long as it has time, without blocking a thread.
    /// Later events of the call block its thread, which may be the runtime's. If the call's time
    /// runs out or the sink takes nothing for five seconds, events are dropped and counted as with
    /// [`Self::Counting`] until there is room. The ends of calls have separate room for 65,536, and
    /// none is dropped while the sink makes progress.
    Waiting,
    /// Through a separate thread, from the same queue. When the queue is full, events are dropped
    /// and counted, and a `log` event before the next delivered one says how many. The ends of
    /// calls (`tool.completed`, `tool.failed`, `tool.rejected`) have separate room for 65,536.
    Counting,
}

/// Whether events carry payloads: the arguments when a call starts; the model's text, the value or
/// the error message when it ends. Secrets are always redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payloads {
    /// Events carry no payloads.
    LeftOut,
    /// Events carry payloads.
    Included,
}

impl Payloads {
    /// The payload, if events carry one.
    pub(crate) fn included<T>(self, payload: impl FnOnce() -> T) -> Option<T> {
        (self == Self::Included).then(payload)
    }
}
