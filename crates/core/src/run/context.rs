//! What every stage of one call has at hand.

use super::authorize::Authorized;
use super::refusal::Refusal;
use super::secret::Secrets;
use super::stopwatch::Stopwatch;
use crate::call::{Arguments, Call};
use crate::client::Foreign;
use crate::digest;
use crate::event::{EventRef, Sink};
use crate::outside::Outside;
use crate::plan::{Site, Surroundings};
use crate::redact::{Redactor, Values};
use crate::registry::Registry;
use crate::result::{ToolResult, milliseconds};
use crate::store::{Metrics, Session, Sessions, Stores};
use crate::worker::Workers;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tool_harness_sandbox::file::Jail;

/// Reads the environment for `env`, of the names that the project lists; the library itself never does. What may not be read is an error that says
/// who can change that: a project cannot give itself the environment.
pub type Environment = Arc<dyn Fn(&str) -> Result<Option<String>, String> + Send + Sync>;

/// What all calls of one engine share.
pub(crate) struct Shared {
    pub(crate) registry: Arc<Registry>,
    pub(crate) workers: Arc<Workers>,
    pub(crate) jail: Arc<Jail>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) sinks: Arc<[Arc<dyn Sink>]>,
    pub(crate) environment: Environment,
    pub(crate) surroundings: Surroundings,
    pub(crate) outside: Arc<dyn Outside>,
    pub(crate) budget: Duration,
    pub(crate) redactor: Redactor,
    /// What the redactor learns.
    pub(crate) values: Arc<Values>,
    pub(crate) secrets: Secrets,
}

impl Shared {
    /// Where plans are for.
    pub(crate) fn site(&self) -> Site<'_> {
        Site { confines: &self.registry.confines, workspace: self.jail.root(), surroundings: &self.surroundings }
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
        let journal = Journal::new(Arc::clone(&shared.sinks), &call, &shared.redactor);
        let ctx = Self {
            stores: session.stores(&call.run_id),
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
        ctx.journal = Arc::new(Journal::new(listener.into_iter().collect(), &ctx.call, &shared.redactor));
        (ctx, sent)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.shared.registry
    }

    /// Writes an event, if anybody listens.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        self.journal.record(name, fields);
    }

    /// A refusal as it may leave: its words may quote what was sent.
    pub(super) fn cleaned(&self, mut refusal: Refusal) -> Refusal {
        self.shared.redactor.pass(None).refusal(&mut refusal);
        refusal
    }

    pub(super) fn record_started(&self, authorized: Authorized) -> Authorized {
        self.journal.record_own("tool.started", || {
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
        self.journal.record_own("tool.rejected", || failure_fields(&result, watch));
        result
    }

    pub(super) fn record_ended(&self, result: ToolResult, watch: &Stopwatch) -> ToolResult {
        self.journal.record_dropped();
        if result.is_error {
            self.journal.record_own("tool.failed", || failure_fields(&result, watch));
        } else {
            self.journal.record_own("tool.completed", || {
                let mut fields = fields([
                    ("tool", result.name.as_str().into()),
                    ("elapsed_ms", milliseconds(result.elapsed)),
                    ("stages_ms", watch.to_json()),
                    ("enforced", result.enforced.to_json().into()),
                ]);
                add_counts(&mut fields, &result);
                fields
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
    /// Absent when nobody listens.
    redactor: Option<Redactor>,
}

/// Events that the scripts of one call may put into the record. A loop around `log` must not fill it.
const MAX_RAISED: u64 = 1000;

impl Journal {
    fn new(sinks: Arc<[Arc<dyn Sink>]>, call: &Arc<Call>, redactor: &Redactor) -> Self {
        let redactor = (!sinks.is_empty()).then(|| redactor.clone());
        Self { sinks, call: Arc::clone(call), emitted: Mutex::default(), raised: AtomicU64::new(0), redactor }
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

    /// Whether anybody listens.
    pub(super) fn is_read(&self) -> bool {
        !self.sinks.is_empty()
    }

    /// Writes an event, if anybody listens, without the secrets that its fields may hold.
    pub(crate) fn record(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
        let Some(redactor) = &self.redactor else { return };
        self.record_own(name, || {
            let mut fields = fields();
            redactor.pass(None).object(&mut fields);
            fields
        });
    }

    /// Writes an event whose fields are the harness's own words, or have been cleaned.
    fn record_own(&self, name: &str, fields: impl Fn() -> Map<String, Value>) {
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

    pub(super) fn next_emitted(&self) -> Option<(String, Value)> {
        self.emitted.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

fn failure_fields(result: &ToolResult, watch: &Stopwatch) -> Map<String, Value> {
    let (code, message) = result.error.as_ref().map_or(("tool.failed", ""), |error| (error.code.text(), error.message.as_str()));
    let mut fields = fields([
        ("tool", result.name.as_str().into()),
        ("code", code.into()),
        ("message", message.into()),
        ("elapsed_ms", milliseconds(result.elapsed)),
        ("stages_ms", watch.to_json()),
    ]);
    add_counts(&mut fields, result);
    fields
}

/// How often something was taken out of a result.
fn add_counts(fields: &mut Map<String, Value>, result: &ToolResult) {
    if let Some(count) = result.metadata.get("redacted") {
        fields.insert("redacted".into(), count.clone());
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
