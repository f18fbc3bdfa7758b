//! Writes the events of a call: without secrets, and without payloads unless a listener asks for
//! them.

use super::audience::Audience;
use super::context::Context;
use super::cut::{MOST_FIELD, MOST_NAME, cut};
use crate::client::ClientToolCall;
use crate::content::ContentBlock;
use crate::digest;
use crate::event::{EventKind, EventName, EventOrigin, EventRef, Payloads, Quoted};
use crate::redact::{MARK, Pass};
use crate::refusal::{Class, Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::{ArtifactRef, ToolResult, encoded_len, milliseconds};
use crate::rule::Match;
use crate::stage::Stopwatch;

use serde_json::{Map, Value, json};
use std::cell::LazyCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Events that the scripts of one call may record. A loop around `log` must not fill the record.
const MAX_RAISED: u64 = 1000;

impl Context {
    /// Redacts a refusal, whose message may quote the arguments.
    pub(super) fn cleaned(&self, mut refusal: Refusal) -> Refusal {
        self.pass().refusal(&mut refusal);
        refusal
    }

    /// The redaction pass for a call of this tool.
    pub(super) fn pass(&self) -> Pass<'_> {
        let tool = self.view().find(&self.0.call.tool);
        self.0
            .shared
            .redactor
            .pass(tool.and_then(|tool| tool.redaction.as_ref()))
    }

    pub(super) fn record_started(&self, tool: &RegisteredTool, arguments: &Map<String, Value>) {
        let args = || {
            let mut arguments = arguments.clone();
            let mut pass = self.shared().redactor.pass(tool.redaction.as_ref());
            pass.object(&mut arguments);
            Value::Object(arguments)
        };
        self.record_lazily(EventName::ToolStarted, |payloads| EventKind::ToolStarted {
            tool: tool.name().to_owned(),
            args_digest: digest::of_object(arguments),
            door: self.call().door,
            mode: self.call().mode.to_string(),
            args: payloads.included(args),
        });
    }

    pub(super) fn record_delegated(&self, foreign: &ClientToolCall, watch: &Stopwatch) {
        self.record(|| EventKind::ToolDelegated {
            tool: foreign.name().to_owned(),
            client: foreign.client().to_owned(),
            native: foreign.native().to_owned(),
            stages_ms: watch.times(),
        });
    }

    pub(super) fn record_rejected(
        &self,
        result: Box<ToolResult>,
        watch: &Stopwatch,
    ) -> Box<ToolResult> {
        self.record_dropped();
        self.record_lazily(EventName::ToolRejected, |payloads| {
            let (code, class) = kind_of(&result);
            EventKind::ToolRejected {
                tool: result.name.to_string(),
                code,
                class,
                elapsed_ms: milliseconds(result.elapsed),
                stages_ms: watch.times(),
                redacted: redacted(&result),
                message: payloads.included(|| message(&result)).flatten(),
            }
        });
        result
    }

    pub(super) fn record_ended(
        &self,
        result: Box<ToolResult>,
        watch: &Stopwatch,
    ) -> Box<ToolResult> {
        self.record_dropped();
        if result.is_error {
            self.record_lazily(EventName::ToolFailed, |payloads| {
                let (code, class) = kind_of(&result);
                EventKind::ToolFailed {
                    tool: result.name.to_string(),
                    code,
                    class,
                    elapsed_ms: milliseconds(result.elapsed),
                    stages_ms: watch.times(),
                    redacted: redacted(&result),
                    artifacts: result.artifacts.clone(),
                    result: payloads.included(|| outcome(&result)),
                    message: payloads.included(|| message(&result)).flatten(),
                }
            });
        } else {
            self.record_lazily(EventName::ToolCompleted, |payloads| {
                EventKind::ToolCompleted {
                    tool: result.name.to_string(),
                    elapsed_ms: milliseconds(result.elapsed),
                    stages_ms: watch.times(),
                    enforced: result.enforced.clone(),
                    redacted: redacted(&result),
                    artifacts: result.artifacts.clone(),
                    result: payloads.included(|| outcome(&result)),
                }
            });
        }
        result
    }

    /// Writes that a rule matched.
    pub(super) fn record_rule(&self, tool: &str, subject: &str, found: &Match<'_>) {
        self.record(|| EventKind::RuleDecided {
            tool: tool.to_owned(),
            subject: subject.to_owned(),
            action: found.rule.action,
            rule: found.rule.words.clone(),
            at: found.rule.place.as_ref().map(ToString::to_string),
        });
    }

    /// Writes an event that a script raised, up to the limit.
    pub(super) fn record_raised(&self, kind: impl FnOnce() -> EventKind) {
        if self.0.raised.fetch_add(1, Ordering::Relaxed) < MAX_RAISED {
            self.record(kind);
        }
    }

    /// Writes how many events of scripts were dropped, if any.
    fn record_dropped(&self) {
        let raised = self.0.raised.load(Ordering::Relaxed);
        let dropped = raised.saturating_sub(MAX_RAISED);
        if dropped > 0 {
            let message = format!(
                "{dropped} more events of scripts were not recorded; a call may raise {MAX_RAISED}"
            );
            self.record(|| EventKind::warning(message, json!({"dropped": dropped})));
        }
    }

    /// Writes a custom event, and queues it for its hooks.
    pub(super) fn emit(&self, source: &str, name: &str, payload: &Value) {
        let mut name = if name.starts_with("custom.") {
            name.to_owned()
        } else {
            format!("custom.{name}")
        };
        self.pass().string(&mut name);
        name.truncate(name.floor_char_boundary(MOST_NAME));
        self.record_raised(|| EventKind::Custom {
            event: name.clone(),
            payload: payload.clone(),
            source: source.to_owned(),
        });
        if self.0.raised.load(Ordering::Relaxed) <= MAX_RAISED && self.view().has_hooks(&name) {
            self.queue(name, payload.clone());
        }
    }

    /// Remembers an artifact that the body stored; the result will list it.
    pub(super) fn stored(&self, artifact: &ArtifactRef, redacted: u64) {
        self.taken_out(redacted);
        self.0
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(artifact.clone());
        self.record_stored(artifact);
    }

    /// Counts redactions that happened before the result existed.
    pub(super) fn taken_out(&self, redacted: u64) {
        self.0.redacted.fetch_add(redacted, Ordering::Relaxed);
    }

    /// Writes that an artifact was stored.
    pub(super) fn record_stored(&self, artifact: &ArtifactRef) {
        if self.is_read() {
            let ArtifactRef {
                id,
                media_type,
                bytes,
                digest,
            } = artifact.clone();
            self.write(&EventKind::ArtifactStored {
                id,
                media_type,
                bytes,
                digest,
            });
        }
    }

    /// Whether a listener or the record receives events.
    pub(super) fn is_read(&self) -> bool {
        !self.audience().is_empty()
    }

    /// A watch for the call, which measures only if something listens.
    pub(super) fn stopwatch(&self) -> Stopwatch {
        Stopwatch::new(self.is_read().then(|| self.started().into_std()))
    }

    /// Refuses a call with effects if the record could not store one of its events. Every effect
    /// must be traceable later.
    pub(super) fn refuse_if_unrecorded(&self, tool: &RegisteredTool) -> Result<(), Refusal> {
        match self.0.unrecorded.get() {
            Some(error) if !tool.effects.is_empty() => {
                let message = format!(
                    "`{}` may not run: the record cannot be written: {error}",
                    tool.called()
                );
                let help = "a person must look at the store of the record";
                Err(Refusal::new(Code::StoreFailed, message).help(help))
            }
            _ => Ok(()),
        }
    }

    /// Who receives the call's events. A dry run has an audience of its own.
    fn audience(&self) -> &Audience {
        self.0
            .rehearsal
            .as_ref()
            .map_or(&self.0.shared.audience, |rehearsal| &rehearsal.audience)
    }

    /// Waits for the sinks that ask for it, as long as the call has time.
    pub(super) async fn heard(&self) {
        let (listeners, until) = (&self.audience().listeners, self.ends().at);
        if listeners.iter().any(|listener| listener.holds_up(until)) {
            Box::pin(async {
                for listener in &**listeners {
                    tokio::select! {
                        biased;
                        () = listener.room(until) => {}
                        () = self.call().cancel.cancelled() => return,
                    }
                }
            })
            .await;
        }
    }

    /// Writes an event if anything listens. What it quotes is redacted and shortened.
    pub(super) fn record(&self, kind: impl FnOnce() -> EventKind) {
        if !self.is_read() {
            return;
        }
        let mut kind = kind();
        let mut pass = self.pass();
        kind.visit(&mut |field, quoted| match quoted {
            Quoted::Text(text) if pass.names(field) && !text.is_empty() => MARK.clone_into(text),
            Quoted::Text(text) => {
                pass.string(text);
                cut(text, MOST_FIELD, None);
            }
            Quoted::Json(value) if pass.names(field) => *value = MARK.into(),
            Quoted::Json(value) => {
                pass.value(value);
                shorten(value);
            }
        });
        self.write(&kind);
    }

    /// Writes an event that quotes nothing, or nothing that is not redacted yet.
    fn write(&self, kind: &EventKind) {
        self.unless_ended(kind.name(), |sequence| {
            let event = EventRef::made(kind, self.origin(), sequence);
            self.deliver(&event, || &event);
        });
    }

    /// Writes an event that every call has. It is worked out only if a listener asks, quotes
    /// nothing that is not redacted yet, and has payloads for listeners that want them.
    fn record_lazily(&self, name: EventName, kind: impl Fn(Payloads) -> EventKind) {
        if !self.is_read() {
            return;
        }
        let (plain, whole) = (|| kind(Payloads::LeftOut), || kind(Payloads::Included));
        self.unless_ended(name, |sequence| {
            let event = EventRef::lazy(name, self.origin(), sequence, &plain);
            let with_payload =
                LazyCell::new(|| EventRef::lazy(name, self.origin(), sequence, &whole));
            self.deliver(&event, || &with_payload);
        });
    }

    fn origin(&self) -> EventOrigin<'_> {
        let call = &self.0.call;
        EventOrigin {
            session_id: &call.session_id,
            run_id: &call.run_id,
            turn_id: call.turn_id(),
            call_id: Some(&call.id),
        }
    }

    /// Writes an event unless the call's last event is written. Later events, from a tool that was
    /// left behind, are only counted.
    fn unless_ended(&self, name: EventName, write: impl FnOnce(u64)) {
        // The only handle on a call needs no lock.
        let _turn = (Arc::strong_count(&self.0) > 1).then(|| {
            self.0
                .writing
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        });
        if self.0.has_ended.load(Ordering::Relaxed) {
            self.0.shared.in_flight.late.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.0.has_ended.store(name.is_end(), Ordering::Relaxed);
        // A dry run leaves no trace, not even a gap in the numbers.
        write(match self.is_rehearsed() {
            true => 0,
            false => self.shared().sessions.next_event(),
        });
    }

    /// Delivers an event of the call. The first failure of the record is kept: it refuses a call
    /// with effects.
    fn deliver<'e>(&self, event: &EventRef<'_>, with_payload: impl Fn() -> &'e EventRef<'e>) {
        let (audience, until) = (self.audience(), self.ends().at);
        if let Err(error) = audience.deliver(event, with_payload, until) {
            let _ = self.0.unrecorded.set(error);
        }
    }
}

/// Replaces a value that is too long for an event. Nothing is stored, because an event is never the
/// only copy.
fn shorten(value: &mut Value) {
    match value {
        Value::String(text) => drop(cut(text, MOST_FIELD, None)),
        Value::Array(_) | Value::Object(_) => {
            let bytes = encoded_len(value);
            if bytes > MOST_FIELD {
                *value = json!({"left_out": {"bytes": bytes}});
            }
        }
        _ => {}
    }
}

/// The code and the class of a failure.
fn kind_of(result: &ToolResult) -> (Code, Class) {
    let error = result.error.as_ref();
    error.map_or((Code::Failed, Class::Repairable), |error| {
        (error.code, error.class)
    })
}

/// The message of an error. It may quote arguments and results.
fn message(result: &ToolResult) -> Option<String> {
    result.error.as_ref().map(|error| error.message.clone())
}

/// The content and the value of a result.
fn outcome(result: &ToolResult) -> Value {
    let content: Vec<Value> = result.content.iter().map(ContentBlock::to_json).collect();
    json!({"content": content, "value": result.value})
}

/// How many secrets were redacted from a result.
fn redacted(result: &ToolResult) -> Option<u64> {
    result.metadata.get("redacted")?.as_u64()
}
