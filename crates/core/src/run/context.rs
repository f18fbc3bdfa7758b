//! What every stage of one call has at hand.

use super::authorize::Authorized;
use super::refusal::{Code, Refusal};
use super::stopwatch::Stopwatch;
use crate::call::{Arguments, Call};
use crate::client::Foreign;
use crate::digest;
use crate::event::{EventRef, Sink};
use crate::host::Host;
use crate::outside::Outside;
use crate::plan::{Site, Surroundings};
use crate::registry::Registry;
use crate::result::{ToolResult, milliseconds};
use crate::store::{Metrics, Session, Sessions, Stores};
use crate::worker::Workers;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
    pub(crate) sinks: Arc<[Arc<dyn Sink>]>,
    pub(crate) environment: Environment,
    pub(crate) surroundings: Surroundings,
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) budget: Duration,
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
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("registry", &self.registry).finish_non_exhaustive()
    }
}

/// Whether a call is made or only thought through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rehearsal {
    /// It is made.
    No,
    /// Nothing is executed, counted or recorded.
    Yes,
}

/// One call on its way.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    /// The call without its arguments: those go from stage to stage.
    pub(crate) call: Arc<Call>,
    pub(crate) session: Arc<Session>,
    pub(crate) stores: Stores,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) started: Instant,
    pub(crate) rehearsal: Rehearsal,
    pub(crate) journal: Arc<Journal>,
}

impl Context {
    /// The context of a call, and what was sent with it.
    pub(crate) fn new(shared: &Arc<Shared>, mut call: Call) -> (Self, Arguments) {
        let sent = std::mem::replace(&mut call.arguments, Arguments::Value(Value::Null));
        let call = Arc::new(call);
        let session = shared.sessions.get(&call.session_id);
        let journal = Journal::new(Arc::clone(&shared.sinks), &call);
        let ctx = Self {
            stores: session.stores(&call.run_id, call.terms.as_ref().map(|terms| Arc::clone(&terms.store))),
            shared: Arc::clone(shared),
            session,
            metrics: Arc::clone(&shared.metrics),
            started: Instant::now(),
            rehearsal: Rehearsal::No,
            journal: Arc::new(journal),
            call,
        };
        (ctx, sent)
    }

    /// The same call, thought through without a trace. Only the one who thinks may listen.
    pub(crate) fn rehearsed(shared: &Arc<Shared>, call: Call, listener: Option<Arc<dyn Sink>>) -> (Self, Arguments) {
        let (mut ctx, sent) = Self::new(shared, call);
        ctx.stores = ctx.stores.discarded();
        ctx.metrics = Arc::default();
        ctx.rehearsal = Rehearsal::Yes;
        ctx.journal = Arc::new(Journal::new(listener.into_iter().collect(), &ctx.call));
        (ctx, sent)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// Writes an event, if anybody listens.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        self.journal.record(name, fields);
    }

    pub(super) fn record_started(&self, authorized: Authorized) -> Authorized {
        self.record("tool.started", || {
            fields([
                ("tool", authorized.tool().name().into()),
                ("args_digest", digest::of_object(authorized.arguments()).into()),
                ("door", self.call.door.word().into()),
                ("mode", self.call.mode.as_str().into()),
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
        self.record("tool.rejected", || failure_fields(&result, watch));
        result
    }

    pub(super) fn record_ended(&self, result: ToolResult, watch: &Stopwatch) -> ToolResult {
        self.journal.record_dropped();
        if result.is_error {
            self.record("tool.failed", || failure_fields(&result, watch));
        } else {
            self.record("tool.completed", || {
                fields([
                    ("tool", result.name.as_str().into()),
                    ("elapsed_ms", milliseconds(result.elapsed)),
                    ("stages_ms", watch.to_json()),
                    ("enforced", result.enforced.to_json().into()),
                ])
            });
        }
        result
    }
}

/// Where one call's events go.
pub(crate) struct Journal {
    sinks: Arc<[Arc<dyn Sink>]>,
    call: Arc<Call>,
    /// Custom events raised by scripts whose hooks have not run yet.
    emitted: Mutex<VecDeque<(String, Value)>>,
    /// Events that scripts raised.
    raised: AtomicU64,
    /// Cancelled when the call is over; there when a tool asked for it.
    over: OnceLock<CancellationToken>,
}

/// Tells what a tool started that its call is over.
pub(super) struct TellWhenOver<'a>(&'a Journal);

impl Drop for TellWhenOver<'_> {
    fn drop(&mut self) {
        if let Some(over) = self.0.over.get() {
            over.cancel();
        }
    }
}

/// Events that the scripts of one call may put into the record. A loop around `log` must not fill it.
const MAX_RAISED: u64 = 1000;

impl Journal {
    fn new(sinks: Arc<[Arc<dyn Sink>]>, call: &Arc<Call>) -> Self {
        Self { sinks, call: Arc::clone(call), emitted: Mutex::default(), raised: AtomicU64::new(0), over: OnceLock::new() }
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

    pub(super) fn cancelled_when_over(&self) -> CancellationToken {
        self.over.get_or_init(|| self.call.cancel.child_token()).clone()
    }

    pub(super) fn tell_when_over(&self) -> TellWhenOver<'_> {
        TellWhenOver(self)
    }

    /// Writes a custom event, and keeps it for its hooks.
    pub(super) fn emit(&self, source: &str, name: &str, payload: &Value) {
        let name = if name.starts_with("custom.") { name.to_owned() } else { format!("custom.{name}") };
        self.record_raised(&name, || object(json!({"payload": payload, "source": source})));
        self.queue(name, payload.clone());
    }

    /// Whether anybody listens.
    pub(super) fn is_read(&self) -> bool {
        !self.sinks.is_empty()
    }

    /// Writes an event, if anybody listens.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        if !self.is_read() {
            return;
        }
        let event = EventRef::new(name, &self.call.session_id, Some(&self.call.id), &fields);
        for sink in &*self.sinks {
            sink.record(&event);
        }
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
    let (code, message) = result.error.as_ref().map_or(("tool.failed", ""), |error| (error.code.text(), error.message.as_str()));
    fields([
        ("tool", result.name.as_str().into()),
        ("code", code.into()),
        ("message", message.into()),
        ("elapsed_ms", milliseconds(result.elapsed)),
        ("stages_ms", watch.to_json()),
    ])
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
