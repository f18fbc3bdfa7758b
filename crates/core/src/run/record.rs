//! Writes the events of a call: without secrets, and without payloads unless a listener asks for
//! them.

use super::authorize::Authorized;
use super::context::Context;
use super::finish::MOST_NAME;
use super::finish::bound::short;
use super::stopwatch::Stopwatch;
use crate::client::ClientToolCall;
use crate::content::ContentBlock;
use crate::digest;
use crate::event::Listener;
use crate::event::{EventRef, Payloads, is_end};
use crate::isolate::caught;
use crate::redact::Pass;
use crate::refusal::{Class, Code, Refusal};
use crate::registry::RegisteredTool;
use crate::result::{ArtifactRef, ToolResult, milliseconds};
use crate::store::{Record, StoreError};
use serde_json::{Map, Value, json};
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

    pub(super) fn record_started(&self, authorized: Authorized) -> Authorized {
        let payload = || {
            let mut arguments = authorized.arguments().clone();
            self.shared()
                .redactor
                .pass(authorized.tool().redaction.as_ref())
                .object(&mut arguments);
            fields([("args", Value::Object(arguments))])
        };
        self.record_with("tool.started", payload, || {
            fields([
                ("tool", authorized.tool().name().into()),
                (
                    "args_digest",
                    digest::of_object(authorized.arguments()).into(),
                ),
                ("door", self.call().door.word().into()),
                ("mode", (*self.call().mode).into()),
            ])
        });
        authorized
    }

    pub(super) fn record_delegated(&self, foreign: &ClientToolCall, watch: &Stopwatch) {
        self.record("tool.delegated", || {
            fields([
                ("tool", foreign.name().into()),
                ("client", foreign.client().into()),
                ("native", foreign.native().into()),
                ("stages_ms", watch.to_json()),
            ])
        });
    }

    pub(super) fn record_rejected(
        &self,
        result: Box<ToolResult>,
        watch: &Stopwatch,
    ) -> Box<ToolResult> {
        self.record_dropped();
        self.record_with(
            "tool.rejected",
            || fields([("message", said(&result))]),
            || failure_fields(&result, watch),
        );
        result
    }

    pub(super) fn record_ended(
        &self,
        result: Box<ToolResult>,
        watch: &Stopwatch,
    ) -> Box<ToolResult> {
        self.record_dropped();
        if result.is_error {
            let payload = || {
                let mut payload = outcome(&result);
                payload.insert("message".into(), said(&result));
                payload
            };
            self.record_with("tool.failed", payload, || failure_fields(&result, watch));
        } else {
            self.record_with(
                "tool.completed",
                || outcome(&result),
                || {
                    let mut fields = fields([
                        ("tool", result.name.as_str().into()),
                        ("elapsed_ms", milliseconds(result.elapsed)),
                        ("stages_ms", watch.to_json()),
                        ("enforced", result.enforced.to_json().into()),
                    ]);
                    add_counts(&mut fields, &result);
                    fields
                },
            );
        }
        result
    }

    /// Writes an event that a script raised, up to the limit.
    pub(super) fn record_raised(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        if self.0.raised.fetch_add(1, Ordering::Relaxed) < MAX_RAISED {
            self.record(name, fields);
        }
    }

    /// Writes how many events of scripts were dropped, if any.
    fn record_dropped(&self) {
        let dropped = self
            .0
            .raised
            .load(Ordering::Relaxed)
            .saturating_sub(MAX_RAISED);
        if dropped == 0 {
            return;
        }
        self.record("log", || {
            let message = format!(
                "{dropped} more events of scripts were not recorded; a call may raise {MAX_RAISED}"
            );
            fields([
                ("level", "warn".into()),
                ("message", message.into()),
                ("fields", json!({"dropped": dropped})),
                ("source", "harness".into()),
            ])
        });
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
        self.record_raised(&name, || {
            object(json!({"payload": payload, "source": source}))
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
        self.record_own("artifact.stored", || object(artifact.to_json()));
    }

    /// Whether a listener or the record receives events.
    pub(super) fn is_read(&self) -> bool {
        !self.listeners().is_empty() || self.recorder().is_some()
    }

    /// The record; a dry run has none.
    fn recorder(&self) -> Option<&Arc<dyn Record>> {
        let record = self.0.shared.record.as_ref();
        record.filter(|_| !self.is_rehearsed())
    }

    /// Appends an event to the record before any listener hears it. The first failure is kept: it
    /// refuses a call with effects.
    fn append(&self, event: &EventRef<'_>) {
        if let Some(record) = self.recorder() {
            let appended = caught(|| record.append(&event.to_event()));
            let panicked = || Err(StoreError("the record panicked".to_owned()));
            if let Err(error) = appended.unwrap_or_else(panicked) {
                let _ = self.0.unrecorded.set(error);
            }
        }
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

    fn listeners(&self) -> &[Listener] {
        self.0
            .rehearsal
            .as_ref()
            .map_or(&self.0.shared.listeners, |rehearsal| &rehearsal.listeners)
    }

    /// Waits for the sinks that ask for it, as long as the call has time.
    pub(super) async fn heard(&self) {
        let until = self.ends().at;
        if self
            .listeners()
            .iter()
            .any(|listener| listener.holds_up(until))
        {
            Box::pin(async {
                for listener in self.listeners() {
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

    /// Writes an event if anything listens. Its fields are redacted and long ones shortened.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        self.record_own(name, || {
            let mut fields = fields();
            self.pass().object(&mut fields);
            short(&mut fields);
            fields
        });
    }

    /// Writes an event whose fields come from the harness or are already redacted.
    fn record_own(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        if !self.is_read() {
            return;
        }
        let event = EventRef::new(
            name,
            &self.0.call.session_id,
            Some(&self.0.call.id),
            &fields,
        );
        self.unless_ended(name, || {
            self.append(&event);
            self.listeners()
                .iter()
                .for_each(|listener| listener.take(&event, self.ends().at))
        });
    }

    /// Writes an event unless the call's last event is written. Later events, from a tool that was
    /// left behind, are only counted.
    fn unless_ended(&self, name: &str, write: impl FnOnce()) {
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
        self.0.has_ended.store(is_end(name), Ordering::Relaxed);
        write();
    }

    /// The same, with additional fields for listeners that ask for payloads.
    fn record_with(
        &self,
        name: &str,
        payload: impl Fn() -> Map<String, Value>,
        fields: impl Fn() -> Map<String, Value>,
    ) {
        if !self.is_read() {
            return;
        }
        let whole = || {
            let mut fields = fields();
            fields.extend(payload());
            fields
        };
        let event = EventRef::new(
            name,
            &self.0.call.session_id,
            Some(&self.0.call.id),
            &fields,
        );
        let with_payload =
            EventRef::new(name, &self.0.call.session_id, Some(&self.0.call.id), &whole);
        let until = self.ends().at;
        self.unless_ended(name, || {
            self.append(&event);
            for listener in self.listeners() {
                match listener.payloads() {
                    Payloads::LeftOut => listener.take(&event, until),
                    Payloads::Included => listener.take(&with_payload, until),
                }
            }
        });
    }
}

fn failure_fields(result: &ToolResult, watch: &Stopwatch) -> Map<String, Value> {
    let (code, class) = result
        .error
        .as_ref()
        .map_or((Code::Failed, Class::Repairable), |error| {
            (error.code, error.class)
        });
    let mut fields = fields([
        ("tool", result.name.as_str().into()),
        ("code", code.text().into()),
        ("class", class.text().into()),
        ("elapsed_ms", milliseconds(result.elapsed)),
        ("stages_ms", watch.to_json()),
    ]);
    add_counts(&mut fields, result);
    fields
}

/// The message of an error. It may quote arguments and results.
fn said(result: &ToolResult) -> Value {
    result
        .error
        .as_ref()
        .map_or(Value::Null, |error| error.message.as_str().into())
}

/// The content and the value of a result.
fn outcome(result: &ToolResult) -> Map<String, Value> {
    let content: Vec<Value> = result.content.iter().map(ContentBlock::to_json).collect();
    fields([("result", json!({"content": content, "value": result.value}))])
}

/// Adds the number of redactions and the handles of stored artifacts.
fn add_counts(fields: &mut Map<String, Value>, result: &ToolResult) {
    if let Some(count) = result.metadata.get("redacted") {
        fields.insert("redacted".into(), count.clone());
    }
    if !result.artifacts.is_empty() {
        let handle = |artifact: &ArtifactRef| json!({"id": artifact.id, "digest": artifact.digest});
        fields.insert(
            "artifacts".into(),
            result.artifacts.iter().map(handle).collect(),
        );
    }
}

/// The fields of an event that every call writes; cheaper than `json!`.
fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The entries of a `json!` object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}
