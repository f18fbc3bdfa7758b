//! What every stage of one call has at hand.

use super::authorize::Authorized;
use super::control::Control;
use super::hold::Hold;
use super::refusal::{Class, Code, Refusal};
use super::secret::Secrets;
use super::stopwatch::Stopwatch;
use crate::call::{Arguments, Call};
use crate::client::Foreign;
use crate::content::ContentBlock;
use crate::digest;
use crate::event::{EventRef, Payloads, Sink, is_end};
use crate::host::Host;
use crate::listen::Listener;
use crate::outside::Outside;
use crate::plan::{Site, Surroundings};
use crate::redact::{Pass, Redactor, Values};
use crate::registry::Registry;
use crate::result::{ArtifactRef, ToolResult, milliseconds};
use crate::store::kept::{KeptStore, Shelf};
use crate::store::{Metrics, Session, Sessions, Stores};
use crate::worker::Workers;
use serde_json::{Map, Value, json};
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::file::Jail;

/// Reads the environment for `env`, of the names that the project lists; the library itself never does. What may not be read is an error that says
/// who can change that: a project cannot give itself the environment.
pub type Environment = Arc<dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync>;

/// What all calls of one engine share.
pub(crate) struct Shared {
    pub(crate) registry: Arc<Registry>,
    pub(crate) workers: Arc<Workers>,
    /// The folder tools may touch; absent where the host gave none.
    pub(crate) jail: Option<Arc<Jail>>,
    pub(crate) host: Arc<Host>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) listeners: Arc<[Listener]>,
    pub(crate) environment: Environment,
    pub(crate) surroundings: Surroundings,
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) budget: Duration,
    pub(crate) redactor: Redactor,
    /// What the redactor learns.
    pub(crate) values: Arc<Values>,
    pub(crate) secrets: Secrets,
    pub(crate) kept: Arc<dyn KeptStore>,
}

/// The workspace of an engine that has none: it is not there, so nothing can be opened in it.
const NOWHERE: &str = "/nonexistent";

impl Shared {
    /// The folder tools may touch.
    pub(crate) fn workspace(&self) -> Result<&Arc<Jail>, Refusal> {
        self.jail.as_ref().ok_or_else(|| {
            Refusal::new(Code::SandboxDenied, "this program has no workspace")
                .help("the host gives one with `workspace` when it builds the engine")
        })
    }

    /// Where plans are for.
    pub(crate) fn site(&self) -> Site<'_> {
        let workspace = self.jail.as_deref().map_or(Path::new(NOWHERE), Jail::root);
        Site { confines: &self.registry.confines, workspace, surroundings: &self.surroundings }
    }

    /// What the session of a call keeps, without what the tool wants taken out.
    pub(super) fn shelf(&self, session: &str, tool: &str) -> Shelf {
        let words = self.registry.find(tool).and_then(|tool| tool.words.clone());
        Shelf::new(Arc::clone(&self.kept), self.redactor.clone(), words, session)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// One call on its way. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) journal: Arc<Journal>,
}

impl Context {
    /// The context of a call, and what was sent with it.
    pub(crate) fn new(shared: &Arc<Shared>, mut call: Call) -> (Self, Arguments) {
        let sent = std::mem::replace(&mut call.arguments, Arguments::Value(Value::Null));
        (Self { journal: Arc::new(Journal::new(Arc::clone(shared), call)) }, sent)
    }

    /// The same call, thought through without a trace. Only the one who thinks may listen.
    pub(crate) fn rehearsed(shared: &Arc<Shared>, call: Call, listener: Option<Arc<dyn Sink>>) -> (Self, Arguments) {
        let (mut ctx, sent) = Self::new(shared, call);
        let stores = ctx.stores().discarded();
        let journal = Journal::new(Arc::clone(shared), ctx.call().clone());
        let rehearsal = Rehearsal { listeners: listener.map(Listener::new).into_iter().collect(), metrics: Arc::default() };
        ctx.journal = Arc::new(Journal { rehearsal: Some(Box::new(rehearsal)), stores: stores.into(), ..journal });
        (ctx, sent)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.journal.shared
    }

    pub(crate) fn session(&self) -> &Session {
        &self.journal.session
    }

    pub(crate) fn started(&self) -> Instant {
        self.journal.started
    }

    /// The call without its arguments: those go from stage to stage.
    pub(crate) fn call(&self) -> &Call {
        &self.journal.call
    }

    /// Whether the call is only thought through: nothing is executed, counted or recorded.
    pub(crate) fn is_rehearsed(&self) -> bool {
        self.journal.rehearsal.is_some()
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        self.journal.rehearsal.as_ref().map_or(&self.shared().metrics, |rehearsal| &rehearsal.metrics)
    }

    /// The stores that the call sees.
    pub(crate) fn stores(&self) -> &Stores {
        let turn = || self.call().terms.as_ref().map(|terms| Arc::clone(&terms.store));
        self.journal.stores.get_or_init(|| self.session().stores(&self.call().run_id, turn()))
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared().registry
    }

    /// Writes an event, if anybody listens.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        self.journal.record(name, fields);
    }

    /// A refusal as it may leave: its words may quote what was sent.
    pub(super) fn cleaned(&self, mut refusal: Refusal) -> Refusal {
        self.journal.pass().refusal(&mut refusal);
        refusal
    }

    pub(super) fn record_started(&self, authorized: Authorized) -> Authorized {
        let payload = || {
            let mut arguments = authorized.arguments().clone();
            self.shared().redactor.pass(authorized.tool().words.as_ref()).object(&mut arguments);
            fields([("args", Value::Object(arguments))])
        };
        self.journal.record_with("tool.started", payload, || {
            fields([
                ("tool", authorized.tool().name().into()),
                ("args_digest", digest::of_object(authorized.arguments()).into()),
                ("door", self.call().door.word().into()),
                ("mode", (*self.call().mode).into()),
            ])
        });
        authorized
    }

    pub(super) fn record_delegated(&self, foreign: &Foreign, watch: &Stopwatch) {
        self.record("tool.delegated", || {
            fields([
                ("tool", foreign.name().into()),
                ("client", foreign.client().into()),
                ("native", foreign.native().into()),
                ("stages_ms", watch.to_json()),
            ])
        });
    }

    pub(super) fn record_rejected(&self, result: ToolResult, watch: &Stopwatch) -> ToolResult {
        self.journal.record_dropped();
        self.journal.record_with("tool.rejected", || fields([("message", said(&result))]), || failure_fields(&result, watch));
        result
    }

    pub(super) fn record_ended(&self, result: ToolResult, watch: &Stopwatch) -> ToolResult {
        self.journal.record_dropped();
        if result.is_error {
            let payload = || {
                let mut payload = outcome(&result);
                payload.insert("message".into(), said(&result));
                payload
            };
            self.journal.record_with("tool.failed", payload, || failure_fields(&result, watch));
        } else {
            self.journal.record_with(
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
}

/// What is known of one call, where its events go, and what else it comes to have on its way.
pub(crate) struct Journal {
    shared: Arc<Shared>,
    session: Arc<Session>,
    call: Call,
    started: Instant,
    rehearsal: Option<Box<Rehearsal>>,
    /// Custom events raised by scripts whose hooks have not run yet.
    emitted: Mutex<VecDeque<(String, Value)>>,
    /// Events that scripts raised.
    raised: AtomicU64,
    /// Found when they are asked for.
    stores: OnceLock<Stores>,
    /// What the call kept.
    kept: Mutex<Vec<ArtifactRef>>,
    /// Cancelled when the call is over; there when a tool asked for it.
    over: OnceLock<CancellationToken>,
    is_over: AtomicBool,
    /// Whether its last event was written. Held while one is written, so that none comes after it.
    has_ended: Mutex<bool>,
    /// Where a call inside this one said that the run shall go.
    interrupted: OnceLock<Control>,
    /// What the call holds alone while it is at work.
    hold: OnceLock<Weak<Hold>>,
}

/// What a call that is only thought through has instead of the engine's: who listens, and what it counts.
struct Rehearsal {
    listeners: Vec<Listener>,
    metrics: Arc<Metrics>,
}

/// Tells what a tool started that its call is over.
pub(super) struct TellWhenOver<'a>(&'a Journal);

impl Drop for TellWhenOver<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
        if let Some(over) = self.0.over.get() {
            over.cancel();
        }
    }
}

/// Events that the scripts of one call may put into the record. A loop around `log` must not fill it.
const MAX_RAISED: u64 = 1000;

impl Journal {
    fn new(shared: Arc<Shared>, call: Call) -> Self {
        Self {
            session: shared.sessions.get(&call.session_id),
            shared,
            call,
            started: Instant::now(),
            rehearsal: None,
            emitted: Mutex::default(),
            raised: AtomicU64::new(0),
            stores: OnceLock::new(),
            kept: Mutex::default(),
            over: OnceLock::new(),
            is_over: AtomicBool::new(false),
            has_ended: Mutex::new(false),
            interrupted: OnceLock::new(),
            hold: OnceLock::new(),
        }
    }

    /// Writes an event that a script raised, while there is room for it.
    pub(super) fn record_raised(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        if self.raised.fetch_add(1, Ordering::Relaxed) < MAX_RAISED {
            self.record(name, fields);
        }
    }

    /// Writes how many events of scripts there was no room for, if any.
    fn record_dropped(&self) {
        let dropped = self.raised.load(Ordering::Relaxed).saturating_sub(MAX_RAISED);
        if dropped == 0 {
            return;
        }
        self.record("log", || {
            let message = format!("{dropped} more events of scripts were not recorded; a call may raise {MAX_RAISED}");
            fields([
                ("level", "warn".into()),
                ("message", message.into()),
                ("fields", json!({"dropped": dropped})),
                ("source", "harness".into()),
            ])
        });
    }

    /// Takes note of where a call inside this one said that the run shall go; the first one counts.
    pub(super) fn interrupt(&self, control: Control) {
        let _ = self.interrupted.set(control);
    }

    pub(super) fn interrupted(&self) -> Option<&Control> {
        self.interrupted.get()
    }

    /// Takes note of what the call holds alone.
    pub(super) fn holds(&self, hold: &Arc<Hold>) {
        let _ = self.hold.set(Arc::downgrade(hold));
    }

    /// What the call holds alone, while it or a thread of it is at work.
    pub(super) fn hold(&self) -> Option<Arc<Hold>> {
        self.hold.get()?.upgrade()
    }

    pub(super) fn cancelled_when_over(&self) -> CancellationToken {
        let over = self.over.get_or_init(|| self.call.cancel.child_token());
        // Whoever asks when it is over is told now: nobody else will.
        if self.is_over.load(Ordering::SeqCst) {
            over.cancel();
        }
        over.clone()
    }

    pub(super) fn tell_when_over(&self) -> TellWhenOver<'_> {
        TellWhenOver(self)
    }

    /// Writes a custom event, and keeps it for its hooks.
    pub(super) fn emit(&self, source: &str, name: &str, payload: &Value) {
        let mut name = if name.starts_with("custom.") { name.to_owned() } else { format!("custom.{name}") };
        self.pass().string(&mut name);
        self.record_raised(&name, || object(json!({"payload": payload, "source": source})));
        self.queue(name, payload.clone());
    }

    /// Whether anybody listens.
    pub(super) fn is_read(&self) -> bool {
        !self.listeners().is_empty()
    }

    fn listeners(&self) -> &[Listener] {
        self.rehearsal.as_ref().map_or(&self.shared.listeners, |rehearsal| &rehearsal.listeners)
    }

    /// Writes an event, if anybody listens, without the secrets that its fields may hold.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        self.record_own(name, || {
            let mut fields = fields();
            self.pass().object(&mut fields);
            fields
        });
    }

    /// Takes out what may not leave a call of this tool.
    pub(super) fn pass(&self) -> Pass<'_> {
        let tool = self.shared.registry.find(&self.call.tool);
        self.shared.redactor.pass(tool.and_then(|tool| tool.words.as_ref()))
    }

    /// Writes an event whose fields are the harness's own words, or have been cleaned.
    fn record_own(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        if !self.is_read() {
            return;
        }
        let event = EventRef::new(name, &self.call.session_id, Some(&self.call.id), &fields);
        self.unless_ended(name, || self.listeners().iter().for_each(|listener| listener.take(&event)));
    }

    /// Writes an event, if the last one of the call has not been written: what a tool that was left behind still says is counted only.
    fn unless_ended(&self, name: &str, write: impl FnOnce()) {
        let mut has_ended = self.has_ended.lock().unwrap_or_else(PoisonError::into_inner);
        if *has_ended {
            self.shared.host.late.fetch_add(1, Ordering::Relaxed);
            return;
        }
        *has_ended = is_end(name);
        write();
    }

    /// The same, with more for those who ask for payloads.
    fn record_with(&self, name: &str, payload: impl Fn() -> Map<String, Value>, fields: impl Fn() -> Map<String, Value>) {
        if !self.is_read() {
            return;
        }
        let whole = || {
            let mut fields = fields();
            fields.extend(payload());
            fields
        };
        let event = EventRef::new(name, &self.call.session_id, Some(&self.call.id), &fields);
        let with_payload = EventRef::new(name, &self.call.session_id, Some(&self.call.id), &whole);
        self.unless_ended(name, || {
            for listener in self.listeners() {
                match listener.payloads() {
                    Payloads::LeftOut => listener.take(&event),
                    Payloads::Included => listener.take(&with_payload),
                }
            }
        });
    }

    /// Takes note of something that the body of the call kept, which its result will list.
    pub(super) fn stored(&self, artifact: &ArtifactRef) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(artifact.clone());
        self.record_stored(artifact);
    }

    /// Writes that something was kept.
    pub(super) fn record_stored(&self, artifact: &ArtifactRef) {
        self.record_own("artifact.stored", || object(artifact.to_json()));
    }

    /// Adds all that the body kept to what it listed itself.
    pub(super) fn list_stored(&self, artifacts: &mut Vec<ArtifactRef>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if kept.is_empty() && artifacts.is_empty() {
            return;
        }
        artifacts.extend(kept);
        let mut seen = HashSet::new();
        artifacts.retain(|artifact| seen.insert(artifact.id.clone()));
    }

    /// The session it belongs to.
    pub(super) fn session(&self) -> &str {
        &self.call.session_id
    }

    /// Keeps a custom event for its hooks.
    pub(super) fn queue(&self, name: String, payload: Value) {
        self.emitted.lock().unwrap_or_else(PoisonError::into_inner).push_back((name, payload));
    }

    /// Whether a custom event waits for its hooks.
    pub(super) fn has_emitted(&self) -> bool {
        // Whatever waits was counted when it was raised.
        self.raised.load(Ordering::Relaxed) > 0 && !self.emitted.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(super) fn next_emitted(&self) -> Option<(String, Value)> {
        self.emitted.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

fn failure_fields(result: &ToolResult, watch: &Stopwatch) -> Map<String, Value> {
    let (code, class) = result.error.as_ref().map_or((Code::Failed, Class::Repairable), |error| (error.code, error.class));
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
    result.error.as_ref().map_or(Value::Null, |error| error.message.as_str().into())
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
        fields.insert("artifacts".into(), result.artifacts.iter().map(handle).collect());
    }
}

/// The fields of an event that every call has: built without the detour that `json!` takes for values.
fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The entries of a `json!` object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}
