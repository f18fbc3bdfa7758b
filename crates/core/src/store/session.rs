//! What the engine remembers about each conversation.

use super::{KeyValue, MemoryStore};
use crate::id::ToolCallId;
use crate::store::StoreScope;
use foldhash::quality::RandomState;
use foldhash::{HashMap, HashMapExt, HashSet};
use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many unused sessions are kept; the least recently used goes first.
const MAX_SESSIONS: usize = 1024;
/// How many unused runs are kept for each session.
const MAX_RUNS: usize = 16;
/// How many call ids a session remembers to detect a repeated one. After this many other ids a
/// repeat goes unnoticed, as [`crate::Call::id`] documents.
const MAX_CALL_IDS: usize = 4096;

/// All sessions of one engine.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    inner: Mutex<Recent<Session>>,
    events: AtomicU64,
}

impl Sessions {
    /// The session with that id, created if new.
    pub(crate) fn get(&self, id: &str) -> Arc<Session> {
        lock(&self.inner).get(id, MAX_SESSIONS)
    }

    /// The number of the next event, from 1. Sessions share the count, because one that is forgotten
    /// and comes back must not repeat a number.
    pub(crate) fn next_event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// One conversation.
#[derive(Debug, Default)]
pub(crate) struct Session {
    state: Arc<MemoryStore>,
    runs: Mutex<Recent<MemoryStore>>,
    calls: Mutex<HashMap<String, u64>>,
    ids: Mutex<Ids>,
}

/// Call ids in order of arrival, as hashes keyed by a secret of the session: 64 bits tell thousands
/// of ids apart, and no id outlives its call.
#[derive(Debug, Default)]
struct Ids {
    secret: RandomState,
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// The call was counted.
    Counted,
    /// The limit was already reached.
    Exhausted,
}

impl Session {
    /// Remembers a call's id; returns false if it was seen before.
    pub(crate) fn claim_id(&self, id: &ToolCallId) -> bool {
        let mut ids = lock(&self.ids);
        let id = ids.secret.hash_one(id.as_str());
        if !ids.known.insert(id) {
            return false;
        }
        ids.order.push_back(id);
        if ids.order.len() > MAX_CALL_IDS
            && let Some(oldest) = ids.order.pop_front()
        {
            ids.known.remove(&oldest);
        }
        true
    }

    /// Counts a call of a tool, unless `most` were made or another counter refuses. The call is
    /// counted everywhere or nowhere.
    pub(crate) fn count_call<E>(
        &self,
        tool: &str,
        most: u64,
        elsewhere: impl FnOnce() -> Result<(), E>,
    ) -> Result<Admission, E> {
        let mut calls = lock(&self.calls);
        let count = calls.entry(tool.to_owned()).or_default();
        if *count >= most {
            return Ok(Admission::Exhausted);
        }
        elsewhere()?;
        *count += 1;
        Ok(Admission::Counted)
    }

    /// What a run of this session remembers, kept while it is in use.
    pub(crate) fn run(&self, id: &str) -> Arc<MemoryStore> {
        lock(&self.runs).get(id, MAX_RUNS)
    }

    /// The stores that a call of this session sees.
    pub(crate) fn stores(&self, run_id: &str, turn: Option<Arc<MemoryStore>>) -> Stores {
        Stores {
            run: self.run(run_id),
            turn: turn.unwrap_or_default(),
            session: Arc::clone(&self.state),
        }
    }
}

/// The three scopes of one call.
#[derive(Clone, Debug)]
pub(crate) struct Stores {
    run: Arc<MemoryStore>,
    turn: Arc<MemoryStore>,
    session: Arc<MemoryStore>,
}

impl Stores {
    /// The store of a scope.
    pub(crate) fn scope(&self, scope: StoreScope) -> &dyn KeyValue {
        match scope {
            StoreScope::Run => &*self.run,
            StoreScope::Turn => &*self.turn,
            StoreScope::Session => &*self.session,
        }
    }

    /// Copies whose changes are discarded.
    pub(crate) fn discarded(&self) -> Self {
        let copy = |store: &MemoryStore| Arc::new(store.copy());
        Self {
            run: copy(&self.run),
            turn: copy(&self.turn),
            session: copy(&self.session),
        }
    }
}

/// A map that drops the least recently used entries, but never one in use.
#[derive(Debug)]
struct Recent<T> {
    map: HashMap<String, (Arc<T>, u64)>,
    clock: u64,
    /// The size at which it next looks for entries to drop.
    full: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self {
            map: HashMap::new(),
            clock: 0,
            full: 0,
        }
    }
}

impl<T: Default> Recent<T> {
    fn get(&mut self, id: &str, most: usize) -> Arc<T> {
        self.clock += 1;
        if let Some((value, used)) = self.map.get_mut(id) {
            *used = self.clock;
            return Arc::clone(value);
        }
        if self.map.len() >= most.max(self.full) {
            self.forget(most);
        }
        let value = Arc::<T>::default();
        self.map
            .insert(id.to_owned(), (Arc::clone(&value), self.clock));
        value
    }

    /// Dropping a quarter at once, and looking again after growing by a quarter, keeps the cost per
    /// entry constant.
    fn forget(&mut self, most: usize) {
        // Callers get entries only through this locked map, so an entry that is unused now stays
        // unused.
        let is_held = |value: &Arc<T>| Arc::strong_count(value) > 1;
        let mut ages: Vec<u64> = self
            .map
            .values()
            .filter(|(value, _)| !is_held(value))
            .map(|(_, used)| *used)
            .collect();
        ages.sort_unstable();
        if let Some(cut) = ages
            .len()
            .checked_sub(most * 3 / 4 + 1)
            .and_then(|last| ages.get(last))
        {
            self.map
                .retain(|_, (value, used)| *used > *cut || is_held(value));
        }
        self.full = self.map.len() + self.map.len() / 4;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn state_lives_with_the_session_cache_with_the_run_and_ctx_with_the_turn() {
        let sessions = Sessions::default();
        let first = sessions.get("s").stores("r1", None);
        for scope in [StoreScope::Run, StoreScope::Turn, StoreScope::Session] {
            first.scope(scope).set("k", json!(1)).expect("room");
        }
        let same_run = sessions.get("s").stores("r1", None);
        let other_run = sessions.get("s").stores("r2", None);
        let other_session = sessions.get("t").stores("r1", None);
        let seen = |stores: &Stores| {
            [StoreScope::Run, StoreScope::Turn, StoreScope::Session]
                .map(|scope| stores.scope(scope).get("k").is_some())
        };
        assert_eq!(seen(&same_run), [true, false, true]);
        assert_eq!(seen(&other_run), [false, false, true]);
        assert_eq!(seen(&other_session), [false, false, false]);
    }

    #[test]
    fn discarded_stores_leave_the_real_ones_alone() {
        let stores = Session::default().stores("r", None);
        stores
            .discarded()
            .scope(StoreScope::Session)
            .set("k", json!(1))
            .expect("room");
        assert_eq!(stores.scope(StoreScope::Session).get("k"), None);
    }

    #[test]
    fn sessions_are_bounded_and_the_recent_ones_stay() {
        let sessions = Sessions::default();
        let keep = sessions.get("keep");
        for index in 0..3 * MAX_SESSIONS {
            sessions.get(&index.to_string());
            assert!(Arc::ptr_eq(&keep, &sessions.get("keep")));
        }
        assert!(lock(&sessions.inner).map.len() <= MAX_SESSIONS);
    }

    #[test]
    fn what_somebody_holds_is_not_forgotten_and_all_else_is_bounded() {
        let sessions = Sessions::default();
        let held: Vec<Arc<Session>> = (0..2 * MAX_SESSIONS)
            .map(|index| sessions.get(&format!("held {index}")))
            .collect();
        let run = held[0].run("held");
        for index in 0..4 * MAX_SESSIONS {
            sessions.get(&index.to_string());
            held[0].run(&index.to_string());
        }
        assert!(
            held.iter()
                .enumerate()
                .all(|(index, one)| Arc::ptr_eq(one, &sessions.get(&format!("held {index}"))))
        );
        assert!(
            Arc::ptr_eq(&run, &held[0].run("held")) && lock(&held[0].runs).map.len() <= MAX_RUNS
        );
        assert!(
            lock(&sessions.inner).map.len() <= 4 * MAX_SESSIONS,
            "half of them are held"
        );
        drop(held);
        (0..2 * MAX_SESSIONS).for_each(|index| drop(sessions.get(&format!("later {index}"))));
        assert!(
            lock(&sessions.inner).map.len() <= MAX_SESSIONS,
            "an unused session goes"
        );
    }

    #[test]
    fn a_call_id_is_remembered_for_as_many_others_as_is_said_and_no_longer() {
        let session = Session::default();
        assert!(session.claim_id(&"first".into()));
        assert!((1..MAX_CALL_IDS).all(|index| session.claim_id(&index.to_string().into())));
        assert!(!session.claim_id(&"first".into()), "after 4,095 others");
        assert!(session.claim_id(&"another".into()));
        assert!(session.claim_id(&"first".into()), "after 4,096 others");
        let ids = lock(&session.ids);
        assert_eq!(
            (ids.known.len(), ids.order.len(), MAX_CALL_IDS),
            (4096, 4096, 4096)
        );
    }

    #[test]
    fn call_ids_are_claimed_once_and_calls_are_counted() {
        let session = Session::default();
        assert!(session.claim_id(&"a".into()) && !session.claim_id(&"a".into()));
        assert_eq!(
            session.count_call("t", 1, || Err("elsewhere")),
            Err("elsewhere")
        );
        let count = || session.count_call("t", 1, || Ok::<(), ()>(()));
        assert_eq!(
            [count(), count()],
            [Ok(Admission::Counted), Ok(Admission::Exhausted)]
        );
    }
}
