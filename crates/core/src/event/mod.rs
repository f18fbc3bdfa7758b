//! Events: what happened in a call, and who is told.

mod listener;

pub(crate) use listener::*;

use serde_json::{Map, Value, json};
use std::cell::OnceCell;
use std::time::SystemTime;

/// One event as it happens. Its fields are built when a sink first reads them, and then shared.
pub struct EventRef<'a> {
    /// `tool.started`, `hook.decided`, ...: one of [`EVENTS`] or `custom.*`.
    pub name: &'a str,
    /// The session.
    pub session_id: &'a str,
    /// The call, if the event belongs to one.
    pub call_id: Option<&'a str>,
    make: &'a dyn Fn() -> Map<String, Value>,
    made: OnceCell<Map<String, Value>>,
    time: OnceCell<SystemTime>,
}

impl Event {
    /// The recorded event as a reference, for a sink that receives it later.
    pub(crate) fn as_it_happened(&self) -> EventRef<'_> {
        let made = OnceCell::from(self.fields.clone());
        let Self {
            name,
            time,
            session_id,
            call_id,
            ..
        } = self;
        EventRef {
            name,
            time: OnceCell::from(*time),
            session_id,
            call_id: call_id.as_deref(),
            make: &Map::new,
            made,
        }
    }
}

impl<'a> EventRef<'a> {
    /// An event that happens now.
    pub fn new(
        name: &'a str,
        session_id: &'a str,
        call_id: Option<&'a str>,
        make: &'a dyn Fn() -> Map<String, Value>,
    ) -> Self {
        Self {
            name,
            session_id,
            call_id,
            make,
            made: OnceCell::new(),
            time: OnceCell::new(),
        }
    }

    /// When it happened; the clock is read on first use.
    #[must_use]
    pub fn time(&self) -> SystemTime {
        *self.time.get_or_init(SystemTime::now)
    }

    /// The event's own fields.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        self.made.get_or_init(self.make)
    }

    /// An owned copy of the event.
    #[must_use]
    pub fn to_event(&self) -> Event {
        Event {
            name: self.name.to_owned(),
            time: self.time(),
            session_id: self.session_id.to_owned(),
            call_id: self.call_id.map(str::to_owned),
            fields: self.fields().clone(),
        }
    }
}

/// One event of the record.
#[derive(Clone, Debug)]
pub struct Event {
    /// `tool.started`, `hook.decided`, ...: one of [`EVENTS`] or `custom.*`.
    pub name: String,
    /// When it happened.
    pub time: SystemTime,
    /// The session.
    pub session_id: String,
    /// The call, if the event belongs to one.
    pub call_id: Option<String>,
    /// The event's own fields.
    pub fields: Map<String, Value>,
}

impl Event {
    /// One JSON object: `event`, `time_ms`, `session_id`, `call_id`, then the event's fields.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        object.insert("event".into(), json!(self.name));
        let since = self
            .time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        object.insert(
            "time_ms".into(),
            json!(u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
        );
        object.insert("session_id".into(), json!(self.session_id));
        if let Some(call_id) = &self.call_id {
            object.insert("call_id".into(), json!(call_id));
        }
        for (key, value) in &self.fields {
            object.insert(key.clone(), value.clone());
        }
        Value::Object(object)
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

/// Whether an event ends a call.
pub(crate) fn is_end(name: &str) -> bool {
    matches!(name, "tool.completed" | "tool.failed" | "tool.rejected")
}

/// A kind of event, for the reference page.
pub struct EventKind {
    /// The name.
    pub name: &'static str,
    /// When it is written.
    pub doc: &'static str,
    /// The fields and their meanings.
    pub fields: &'static [(&'static str, &'static str)],
}

/// The field of a call's last event that says where its time went.
const STAGES: (&str, &str) = (
    "stages_ms",
    "time by stage, for the stages it reached; `before` begins with the writing of `tool.started`",
);

/// The field that counts what was redacted from the result.
const REDACTED: (&str, &str) = (
    "redacted",
    "how often something was taken out of the result and of what the call kept, if anything was",
);

/// The field that lists the stored artifacts.
const ARTIFACTS: (&str, &str) = (
    "artifacts",
    "`id` and `digest` of each artifact of the result, if there are any",
);

/// The field that a sink with payloads gets at the end of a call.
const RESULT: (&str, &str) = (
    "result",
    "`content` and `value` of the result, for a sink that asks for payloads",
);

/// Every event the path writes.
pub const EVENTS: &[EventKind] = &[
    EventKind {
        name: "tool.started",
        doc: "A call passed the rules; its hooks run next. Exactly one `tool.completed` or `tool.failed` follows.",
        fields: &[
            ("tool", "canonical name"),
            ("args_digest", "digest of the arguments"),
            ("door", "where the call came in"),
            ("mode", "the mode"),
            ("args", "the arguments, for a sink that asks for payloads"),
        ],
    },
    EventKind {
        name: "tool.completed",
        doc: "A started call ended with a result.",
        fields: &[
            ("tool", "canonical name"),
            ("elapsed_ms", "time taken"),
            STAGES,
            ("enforced", "what contained the body"),
            REDACTED,
            ARTIFACTS,
            RESULT,
        ],
    },
    EventKind {
        name: "tool.failed",
        doc: "A started call ended in an error or was stopped by a hook.",
        fields: &[
            ("tool", "canonical name"),
            ("code", "the error's code"),
            ("class", "what may be hoped for"),
            (
                "message",
                "the error's message, for a sink that asks for payloads: it may quote what was sent",
            ),
            ("elapsed_ms", "time taken"),
            STAGES,
            REDACTED,
            ARTIFACTS,
            RESULT,
        ],
    },
    EventKind {
        name: "tool.rejected",
        doc: "A call was refused before it started.",
        fields: &[
            ("tool", "the name asked for"),
            ("code", "the refusal's code"),
            ("class", "what may be hoped for"),
            (
                "message",
                "the refusal's message, for a sink that asks for payloads: it may quote what was sent",
            ),
            ("elapsed_ms", "time taken"),
            STAGES,
            REDACTED,
            ARTIFACTS,
        ],
    },
    EventKind {
        name: "tool.retried",
        doc: "The body of a call is run again.",
        fields: &[
            ("tool", "canonical name"),
            ("attempt", "which attempt it is, from 2"),
            (
                "code",
                "why the one before failed, when a `retry` policy says so",
            ),
            ("wait_ms", "how long it waits before"),
        ],
    },
    EventKind {
        name: "tool.repaired",
        doc: "The arguments of a call were repaired before they were validated, as the host's policy allows.",
        fields: &[
            ("tool", "canonical name"),
            ("repairs", "what was undone: fence, text, wrapper, argument"),
        ],
    },
    EventKind {
        name: "surface.narrowed",
        doc: "A turn offers fewer tools than the mode has.",
        fields: &[
            ("run_id", "the run"),
            ("turn", "which turn of the run it is"),
            ("offered", "names of the tools that are left"),
        ],
    },
    EventKind {
        name: "tool.delegated",
        doc: "A started call passed its hooks and is the client's to run. Its hook after the call writes the last event.",
        fields: &[
            ("tool", "the name hooks saw"),
            ("client", "the client"),
            ("native", "the client's name for the tool"),
            STAGES,
        ],
    },
    EventKind {
        name: "tool.progress",
        doc: "A script called `progress`.",
        fields: &[("fraction", "0 to 1"), ("message", "text")],
    },
    EventKind {
        name: "artifact.stored",
        doc: "Something was kept: the whole of a long result or output, or what a tool put aside.",
        fields: &[
            ("id", "its handle, which only this session can use"),
            ("media_type", "what it is"),
            ("bytes", "how long it is"),
            (
                "digest",
                "the digest of its content, which has no secrets in it",
            ),
        ],
    },
    EventKind {
        name: "rule.decided",
        doc: "A rule denied a call or a built-in, or asked for a person.",
        fields: &[
            ("tool", "canonical name"),
            ("subject", "the tool or built-in judged"),
            ("action", "deny or ask"),
            ("rule", "the rule in words"),
            ("at", "file:line:column it came from"),
        ],
    },
    EventKind {
        name: "hook.decided",
        doc: "A hook or a middleware gave a decision other than allow, or failed.",
        fields: &[
            ("hook", "its name"),
            ("event_name", "the event it ran for"),
            ("action", "block, modify, ask, defer, delegate or failed"),
            ("reason", "its words"),
        ],
    },
    EventKind {
        name: "log",
        doc: "A script called `log` or `print`. The scripts of one call may raise 1,000 events; how many more there were is one last `log` of `harness`.",
        fields: &[
            ("level", "info, warn or error"),
            ("message", "text"),
            ("fields", "named values"),
            ("source", "the tool or hook, or `harness`"),
        ],
    },
    EventKind {
        name: "custom.*",
        doc: "A script called `emit`.",
        fields: &[
            ("payload", "what was emitted"),
            ("source", "the tool or hook"),
        ],
    },
    EventKind {
        name: "file.denied",
        doc: "The jail refused a path, or the kernel said that it refused one to a process.",
        fields: &[
            ("source", "the tool or hook"),
            ("builtin", "the call"),
            ("message", "why"),
            ("program", "the program, when a process was refused"),
            ("path", "the path, when a process was refused"),
            ("layer", "what refused it, when a process was refused"),
        ],
    },
    EventKind {
        name: "network.denied",
        doc: "A request, or a process, tried to reach a host that is not allowed.",
        fields: &[
            ("source", "the tool or hook"),
            ("builtin", "the call"),
            ("program", "the program, when a process tried"),
            ("host", "what it tried to reach"),
            ("message", "why not"),
            ("layer", "what refused it"),
        ],
    },
    EventKind {
        name: "process.killed",
        doc: "A command was ended before it ended by itself: at its deadline, by a cancel, or because it went beyond a limit.",
        fields: &[
            ("source", "the tool"),
            ("builtin", "the call"),
            ("program", "the program"),
            ("limit", "what it went beyond, when that is known"),
            ("message", "why"),
            ("layer", "what ended it"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_names_are_unique() {
        let mut names: Vec<_> = EVENTS.iter().map(|event| event.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), EVENTS.len());
    }
}
