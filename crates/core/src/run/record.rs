//! The events of a call, as they are written: without secrets, and without payloads unless somebody asks.

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

/// Events that the scripts of one call may put into the record. A loop around `log` must not fill it.
const MAX_RAISED: u64 = 1000;

impl Context {
    /// A refusal as it may leave: its words may quote what was sent.
    pub(super) fn cleaned(&self, mut refusal: Refusal) -> Refusal {
        self.pass().refusal(&mut refusal);
        refusal
    }

    /// Takes out what may not leave a call of this tool.
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

    /// Writes an event that a script raised, while there is room for it.
    pub(super) fn record_raised(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        if self.0.raised.fetch_add(1, Ordering::Relaxed) < MAX_RAISED {
            self.record(name, fields);
        }
    }

    /// Writes how many events of scripts there was no room for, if any.
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

    /// Writes a custom event, and keeps it for its hooks.
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

    /// Takes note of something that the body of the call kept, which its result will list.
    pub(super) fn stored(&self, artifact: &ArtifactRef, redacted: u64) {
        self.taken_out(redacted);
        self.0
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(artifact.clone());
        self.record_stored(artifact);
    }

    /// Counts what was taken out of something before it came to the result.
    pub(super) fn taken_out(&self, redacted: u64) {
        self.0.redacted.fetch_add(redacted, Ordering::Relaxed);
    }

    /// Writes that something was kept.
    pub(super) fn record_stored(&self, artifact: &ArtifactRef) {
        self.record_own("artifact.stored", || object(artifact.to_json()));
    }

    /// Whether events go anywhere.
    pub(super) fn is_read(&self) -> bool {
        !self.listeners().is_empty() || self.recorder().is_some()
    }

    /// The record; a dry run has none.
    fn recorder(&self) -> Option<&Arc<dyn Record>> {
        let record = self.0.shared.record.as_ref();
        record.filter(|_| !self.is_rehearsed())
    }

    /// Appends an event to the record, before any listener hears of it. The first failure is kept:
    /// it refuses a call with effects.
    fn append(&self, event: &EventRef<'_>) {
        if let Some(record) = self.recorder() {
            let appended = caught(|| record.append(&event.to_event()));
            let panicked = || Err(StoreError("the record panicked".to_owned()));
            if let Err(error) = appended.unwrap_or_else(panicked) {
                let _ = self.0.unrecorded.set(error);
            }
        }
    }

    /// Refuses a call with effects that the record does not have. Nothing may happen that nobody
    /// can find later.
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

    /// Writes an event, if anybody listens, without the secrets that its fields may hold, and of long ones as much as anybody is told.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        self.record_own(name, || {
            let mut fields = fields();
            self.pass().object(&mut fields);
            short(&mut fields);
            fields
        });
    }

    /// Writes an event whose fields are the harness's own words, or have been cleaned.
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

    /// Writes an event, if the last one of the call has not been written: what a tool that was left behind still says is counted only.
    fn unless_ended(&self, name: &str, write: impl FnOnce()) {
        // Who has the only handle on the call is nobody's rival.
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

    /// The same, with more for those who ask for payloads.
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

/// The words of an error: they may quote what was sent and what was found.
fn said(result: &ToolResult) -> Value {
    result
        .error
        .as_ref()
        .map_or(Value::Null, |error| error.message.as_str().into())
}

/// What a model reads of a result, and its value.
fn outcome(result: &ToolResult) -> Map<String, Value> {
    let content: Vec<Value> = result.content.iter().map(ContentBlock::to_json).collect();
    fields([("result", json!({"content": content, "value": result.value}))])
}

/// How often something was taken out of a result, and what of it was kept.
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

/// The fields of an event that every call has: built without the detour that `json!` takes for values.
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
