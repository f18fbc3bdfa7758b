//! The context of one call, which every stage receives.

use super::audience::Audience;
use super::deadline::Deadline;
use super::in_flight::Hold;
use super::shared::Shared;
use crate::call::{Arguments, Call};
use crate::control::Control;
use crate::event::{Listener, Sink};
use crate::plan::Site;
use crate::refusal::{Class, Code, Refusal};
use crate::registry::Catalogue;
use crate::result::{ArtifactRef, MOST_LISTED};
use crate::store::{Metrics, Session, StoreError, Stores};
use crate::view::View;
use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tool_harness_sandbox::file::JudgedPath;

/// One call in progress. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Context(pub(super) Arc<Inner>);

impl Context {
    /// Creates the context of a call, and returns the arguments sent with it.
    pub(crate) fn new(shared: &Arc<Shared>, mut call: Call) -> (Self, Arguments) {
        let sent = std::mem::replace(&mut call.arguments, Arguments::Value(Value::Null));
        (Self(Arc::new(Inner::new(Arc::clone(shared), call))), sent)
    }

    /// Creates the context of a dry run: only the given listeners hear its events.
    pub(crate) fn rehearsed(
        shared: &Arc<Shared>,
        call: Call,
        listener: Option<Arc<dyn Sink>>,
    ) -> (Self, Arguments) {
        let (ctx, sent) = Self::new(shared, call);
        let stores = ctx.stores().discarded();
        let inner = Inner::new(Arc::clone(shared), ctx.call().clone());
        let rehearsal = DryRun {
            audience: Audience {
                record: None,
                listeners: listener.map(Listener::new).into_iter().collect(),
            },
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

    /// When all work for the call must have ended.
    pub(super) fn ends(&self) -> Deadline {
        match self.0.paused.load(Ordering::Relaxed) {
            0 => self.0.ends,
            paused => self.0.ends.later(Duration::from_nanos(paused)),
        }
    }

    /// Stops the call's clock until the guard is dropped: the time a person takes does not count.
    pub(super) fn pause(&self) -> Pause<'_> {
        Pause {
            ctx: self,
            since: Instant::now(),
        }
    }

    /// The call without its arguments, which the stages pass on themselves.
    pub(crate) fn call(&self) -> &Call {
        &self.0.call
    }

    /// Whether this is a dry run: nothing is executed, counted or recorded.
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

    /// The view of the call's mode, or the default view if the mode is unknown.
    pub(crate) fn view(&self) -> &View {
        self.0.shared.view_at(self.0.view)
    }

    /// Whether the project has the call's mode.
    pub(super) fn is_mode_known(&self) -> bool {
        self.0.is_mode_known
    }

    pub(crate) fn catalogue(&self) -> &Catalogue {
        &self.view().catalogue
    }

    /// The starting point for the plans of this call.
    pub(crate) fn site(&self) -> Site<'_> {
        self.shared().site(self.view())
    }

    /// Records that a nested call interrupted the run. The first interruption counts.
    pub(super) fn interrupt(&self, control: Control) {
        let _ = self.0.interrupted.set(control);
    }

    pub(super) fn interrupted(&self) -> Option<&Control> {
        self.0.interrupted.get()
    }

    /// Remembers what the call holds exclusively.
    pub(super) fn holds(&self, hold: &Arc<Hold>) {
        let _ = self.0.hold.set(Arc::downgrade(hold));
    }

    /// What the call holds exclusively, while the call or one of its threads runs.
    pub(super) fn hold(&self) -> Option<Arc<Hold>> {
        self.0.hold.get()?.upgrade()
    }

    /// Remembers the paths that constraints judged.
    pub(super) fn judged(&self, paths: Vec<JudgedPath>) {
        if !paths.is_empty() {
            let _ = self.0.judged.set(paths.into());
        }
    }

    /// The paths that constraints judged: what the body opens under their names is judged again.
    pub(super) fn judged_paths(&self) -> &[JudgedPath] {
        self.0.judged.get().map_or(&[], |paths| paths)
    }

    pub(super) fn cancelled_when_over(&self) -> CancellationToken {
        let over = self.0.over.get_or_init(|| self.0.call.cancel.child_token());
        // The call may have ended before the token existed, and nothing else would cancel it.
        if self.0.is_over.load(Ordering::SeqCst) {
            over.cancel();
        }
        over.clone()
    }

    pub(super) fn tell_when_over(&self) -> TellWhenOver<'_> {
        TellWhenOver(self)
    }

    /// Refuses to store more artifacts than the result may list.
    pub(super) fn room_to_store(&self) -> Result<(), Refusal> {
        let stored = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.len() < MOST_LISTED {
            return Ok(());
        }
        let message = format!("a call may store {MOST_LISTED} artifacts, and this one already has");
        Err(Refusal::new(Code::Limit, message)
            .class(Class::Repairable)
            .help("store more in one artifact, or make another call"))
    }

    /// Adds everything that the body stored to the artifacts it listed itself.
    pub(super) fn append_stored_artifacts(&self, artifacts: &mut Vec<ArtifactRef>) {
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

    /// Queues a custom event for its hooks.
    pub(super) fn queue(&self, name: String, payload: Value) {
        self.0
            .emitted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back((name, payload));
    }

    /// Whether a custom event waits for its hooks.
    pub(super) fn has_emitted(&self) -> bool {
        // Every queued event was counted when it was raised, so this check avoids the lock.
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

/// The state of one call.
pub(super) struct Inner {
    pub(super) shared: Arc<Shared>,
    /// The position of its mode's view. The version that it holds owns the view, and counting one
    /// more reference would cost every call.
    view: usize,
    is_mode_known: bool,
    session: Arc<Session>,
    pub(super) call: Call,
    started: Instant,
    /// When all work for it must have ended.
    ends: Deadline,
    /// Nanoseconds that the call spent waiting for a person.
    paused: AtomicU64,
    pub(super) rehearsal: Option<Box<DryRun>>,
    /// Why the record lacks an event of the call.
    pub(super) unrecorded: OnceLock<StoreError>,
    /// Custom events that scripts raised and whose hooks have not run yet.
    pub(super) emitted: Mutex<VecDeque<(String, Value)>>,
    /// How many events scripts raised.
    pub(super) raised: AtomicU64,
    /// Opened on first use.
    stores: OnceLock<Stores>,
    /// Artifacts that the call stored.
    pub(super) kept: Mutex<Vec<ArtifactRef>>,
    /// How many secrets were redacted from them.
    pub(super) redacted: AtomicU64,
    /// Cancelled when the call is over; present only if a tool asked for it.
    over: OnceLock<CancellationToken>,
    is_over: AtomicBool,
    /// Whether its last event was written.
    pub(super) has_ended: AtomicBool,
    /// Held while an event is written, so that no event follows the last one.
    pub(super) writing: Mutex<()>,
    /// How a nested call interrupted the run.
    interrupted: OnceLock<Control>,
    /// What the call holds exclusively while it runs.
    hold: OnceLock<Weak<Hold>>,
    /// Its arguments that are paths and that constraints judged.
    judged: OnceLock<Box<[JudgedPath]>>,
}

impl Inner {
    #[inline(always)]
    fn new(shared: Arc<Shared>, call: Call) -> Self {
        let started = Instant::now();
        let view = shared.position(&call.mode);
        Self {
            session: shared.sessions.get(&call.session_id),
            // Admission refuses a call whose mode is unknown; until then it needs a view.
            view: view.unwrap_or(Shared::DEFAULT_VIEW),
            is_mode_known: view.is_some(),
            started,
            ends: Deadline::of_call(started, shared.budget, call.timeout),
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
            judged: OnceLock::new(),
        }
    }
}

/// The audience and counters that a dry run uses instead of the engine's.
pub(super) struct DryRun {
    pub(super) audience: Audience,
    metrics: Arc<Metrics>,
}

/// Tells background work of the tool that the call is over.
pub(super) struct TellWhenOver<'a>(&'a Context);

impl Drop for TellWhenOver<'_> {
    fn drop(&mut self) {
        self.0.0.is_over.store(true, Ordering::SeqCst);
        if let Some(over) = self.0.0.over.get() {
            over.cancel();
        }
    }
}

/// Stops the call's clock until it is dropped.
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
