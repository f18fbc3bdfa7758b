//! What every stage of one call has at hand.

use super::deadline::{Deadline, of_call};
use super::execute::hold::Hold;
use crate::store::StoreError;
use std::time::Duration;

use crate::call::{Arguments, Call};
use crate::control::Control;
use crate::event::Listener;
use crate::event::Sink;

use crate::plan::Site;
use crate::registry::Catalogue;
use crate::result::ArtifactRef;
use crate::run::Shared;
use crate::store::{Metrics, Session, Stores};
use crate::view::View;
use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// One call on its way. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Context(pub(super) Arc<Inner>);

impl Context {
    /// The context of a call, and what was sent with it.
    pub(crate) fn new(shared: &Arc<Shared>, mut call: Call) -> (Self, Arguments) {
        let sent = std::mem::replace(&mut call.arguments, Arguments::Value(Value::Null));
        (Self(Arc::new(Inner::new(Arc::clone(shared), call))), sent)
    }

    /// The same call, thought through without a trace. Only the one who thinks may listen.
    pub(crate) fn rehearsed(
        shared: &Arc<Shared>,
        call: Call,
        listener: Option<Arc<dyn Sink>>,
    ) -> (Self, Arguments) {
        let (ctx, sent) = Self::new(shared, call);
        let stores = ctx.stores().discarded();
        let inner = Inner::new(Arc::clone(shared), ctx.call().clone());
        let rehearsal = DryRun {
            listeners: listener.map(Listener::new).into_iter().collect(),
            metrics: Arc::default(),
        };
        let inner = Inner {
            rehearsal: Some(Box::new(rehearsal)),
            stores: stores.into(),
            ..inner
        };
        (Self(Arc::new(inner)), sent)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    pub(crate) fn session(&self) -> &Session {
        &self.0.session
    }

    pub(crate) fn started(&self) -> Instant {
        self.0.started
    }

    /// When all that is done for the call must be over.
    pub(super) fn ends(&self) -> Deadline {
        self.0
            .ends
            .later(Duration::from_nanos(self.0.paused.load(Ordering::Relaxed)))
    }

    /// Stops the call's clock until the guard is dropped: a person's time is not the call's.
    pub(super) fn pause(&self) -> Pause<'_> {
        Pause {
            ctx: self,
            since: Instant::now(),
        }
    }

    /// The call without its arguments: those go from stage to stage.
    pub(crate) fn call(&self) -> &Call {
        &self.0.call
    }

    /// Whether the call is only thought through: nothing is executed, counted or recorded.
    pub(crate) fn is_rehearsed(&self) -> bool {
        self.0.rehearsal.is_some()
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        self.0
            .rehearsal
            .as_ref()
            .map_or(&self.shared().metrics, |rehearsal| &rehearsal.metrics)
    }

    /// The stores that the call sees.
    pub(crate) fn stores(&self) -> &Stores {
        let turn = || {
            self.call()
                .terms
                .as_ref()
                .map(|terms| Arc::clone(&terms.store))
        };
        self.0
            .stores
            .get_or_init(|| self.session().stores(&self.call().run_id, turn()))
    }

    /// The view of the call's mode.
    pub(crate) fn view(&self) -> &View {
        &self.0.view
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.0.view.catalogue
    }

    /// What plans of this call start from.
    pub(crate) fn site(&self) -> Site<'_> {
        self.shared().site(self.view())
    }

    /// Takes note of where a call inside this one said that the run shall go; the first one counts.
    pub(super) fn interrupt(&self, control: Control) {
        let _ = self.0.interrupted.set(control);
    }

    pub(super) fn interrupted(&self) -> Option<&Control> {
        self.0.interrupted.get()
    }

    /// Takes note of what the call holds alone.
    pub(super) fn holds(&self, hold: &Arc<Hold>) {
        let _ = self.0.hold.set(Arc::downgrade(hold));
    }

    /// What the call holds alone, while it or a thread of it is at work.
    pub(super) fn hold(&self) -> Option<Arc<Hold>> {
        self.0.hold.get()?.upgrade()
    }

    pub(super) fn cancelled_when_over(&self) -> CancellationToken {
        let over = self.0.over.get_or_init(|| self.0.call.cancel.child_token());
        // Whoever asks when it is over is told now: nobody else will.
        if self.0.is_over.load(Ordering::SeqCst) {
            over.cancel();
        }
        over.clone()
    }

    pub(super) fn tell_when_over(&self) -> TellWhenOver<'_> {
        TellWhenOver(self)
    }

    /// Adds all that the body kept to what it listed itself.
    pub(super) fn list_stored(&self, artifacts: &mut Vec<ArtifactRef>) {
        let kept = self
            .0
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if kept.is_empty() && artifacts.is_empty() {
            return;
        }
        artifacts.extend(kept);
        let mut seen = HashSet::new();
        artifacts.retain(|artifact| seen.insert(artifact.id.clone()));
    }

    /// Keeps a custom event for its hooks.
    pub(super) fn queue(&self, name: String, payload: Value) {
        self.0
            .emitted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back((name, payload));
    }

    /// Whether a custom event waits for its hooks.
    pub(super) fn has_emitted(&self) -> bool {
        // Whatever waits was counted when it was raised.
        self.0.raised.load(Ordering::Relaxed) > 0
            && !self
                .0
                .emitted
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_empty()
    }

    pub(super) fn next_emitted(&self) -> Option<(String, Value)> {
        self.0
            .emitted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    }
}

/// What is known of a call, and what else it comes to have on its way.
pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    /// The view of its mode.
    view: Arc<View>,
    session: Arc<Session>,
    pub(super) call: Call,
    started: Instant,
    /// When all that is done for it must be over.
    ends: Deadline,
    /// Nanoseconds in which the call waited for a person.
    paused: AtomicU64,
    pub(super) rehearsal: Option<Box<DryRun>>,
    /// Why the record does not have an event of the call.
    pub(super) unrecorded: OnceLock<StoreError>,
    /// Custom events raised by scripts whose hooks have not run yet.
    pub(super) emitted: Mutex<VecDeque<(String, Value)>>,
    /// Events that scripts raised.
    pub(super) raised: AtomicU64,
    /// Found when they are asked for.
    stores: OnceLock<Stores>,
    /// What the call kept.
    pub(super) kept: Mutex<Vec<ArtifactRef>>,
    /// How often something was taken out of that.
    pub(super) redacted: AtomicU64,
    /// Cancelled when the call is over; there when a tool asked for it.
    over: OnceLock<CancellationToken>,
    is_over: AtomicBool,
    /// Whether its last event was written.
    pub(super) has_ended: AtomicBool,
    /// Held while an event is written, so that none comes after the last one.
    pub(super) writing: Mutex<()>,
    /// Where a call inside this one said that the run shall go.
    interrupted: OnceLock<Control>,
    /// What the call holds alone while it is at work.
    hold: OnceLock<Weak<Hold>>,
}

impl Inner {
    #[inline(always)]
    fn new(shared: Arc<Shared>, call: Call) -> Self {
        let started = Instant::now();
        Self {
            session: shared.sessions.get(&call.session_id),
            view: Arc::clone(shared.view_or_default(&call.mode)),
            started,
            ends: of_call(started, shared.budget, call.timeout),
            shared,
            call,
            paused: AtomicU64::new(0),
            unrecorded: OnceLock::new(),
            rehearsal: None,
            emitted: Mutex::default(),
            raised: AtomicU64::new(0),
            stores: OnceLock::new(),
            kept: Mutex::default(),
            redacted: AtomicU64::new(0),
            over: OnceLock::new(),
            is_over: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            writing: Mutex::new(()),
            interrupted: OnceLock::new(),
            hold: OnceLock::new(),
        }
    }
}

/// What a call that is only thought through has instead of the engine's: who listens, and what it counts.
pub(super) struct DryRun {
    pub(super) listeners: Vec<Listener>,
    metrics: Arc<Metrics>,
}

/// Tells what a tool started that its call is over.
pub(super) struct TellWhenOver<'a>(&'a Context);

impl Drop for TellWhenOver<'_> {
    fn drop(&mut self) {
        self.0.0.is_over.store(true, Ordering::SeqCst);
        if let Some(over) = self.0.0.over.get() {
            over.cancel();
        }
    }
}

/// While it is there, the call's clock stands still.
pub(super) struct Pause<'a> {
    ctx: &'a Context,
    since: Instant,
}

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        let waited = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.ctx.0.paused.fetch_add(waited, Ordering::Relaxed);
    }
}
