//! Slots that only a limited number of calls may hold at once. A call may hold slots while a nested
//! call waits for others, so this module records who holds and who waits, and refuses a wait that
//! could never end.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A fixed number of slots of one kind.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    most: usize,
}

impl Slots {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            free: Arc::new(Semaphore::new(most)),
            most,
        })
    }
}

/// Identifies a call by the address of its context, which is stable while the call runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Caller(usize);

impl Caller {
    pub(crate) fn of<T>(context: &T) -> Self {
        Self(std::ptr::from_ref(context).addr())
    }
}

/// Why a call gets no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// Every holder waits for the call that wants the slot.
    Never,
    /// The slots were closed.
    Gone,
}

/// Which calls of an engine hold slots, and which wait for others.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    held: HashMap<u64, Entry>,
    waiting: HashMap<u64, Entry>,
    /// How many slots of a kind each call holds, by the address of the kind.
    holders: HashMap<usize, HashMap<Caller, usize>>,
    /// How many slots a call holds, and how many it or a nested call waits for.
    holding: HashMap<Caller, usize>,
    held_up: HashMap<Caller, usize>,
    next: u64,
}

fn add<K: Eq + Hash>(counts: &mut HashMap<K, usize>, of: K) {
    *counts.entry(of).or_default() += 1;
}

/// Decrements a count, and removes it at zero.
fn take_off<K: Eq + Hash>(counts: &mut HashMap<K, usize>, of: &K) {
    if let Some(count) = counts.get_mut(of) {
        *count -= 1;
        if *count == 0 {
            counts.remove(of);
        }
    }
}

/// A slot that is held or waited for.
#[derive(Clone, Debug)]
struct Entry {
    slots: Arc<Slots>,
    /// The call, then the calls that contain it.
    callers: Arc<[Caller]>,
}

/// A held slot; dropping it releases it.
pub(crate) struct Held {
    // Released after the book entry is removed, so that the book never lists a free slot as held.
    _permit: OwnedSemaphorePermit,
    waits: Arc<Waits>,
    number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.waits.book().gives_back(self.number);
    }
}

/// A waiting call; dropping it ends the wait.
struct Waiting<'a> {
    waits: &'a Waits,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.waits.book().waits_no_more(self.number);
    }
}

impl Waits {
    /// Takes a slot for a call if one is free.
    pub(crate) fn take(
        self: &Arc<Self>,
        slots: &Arc<Slots>,
        callers: &Arc<[Caller]>,
    ) -> Option<Held> {
        let permit = Arc::clone(&slots.free).try_acquire_owned().ok()?;
        Some(self.hold(permit, slots, callers))
    }

    /// Waits for a slot; refuses if none can ever be released.
    pub(crate) async fn wait_for(
        self: &Arc<Self>,
        slots: &Arc<Slots>,
        callers: &Arc<[Caller]>,
    ) -> Result<Held, NoSlot> {
        let waiting = self.wait(slots, callers)?;
        let permit = Arc::clone(&slots.free)
            .acquire_owned()
            .await
            .map_err(|_| NoSlot::Gone)?;
        drop(waiting);
        Ok(self.hold(permit, slots, callers))
    }

    fn hold(
        self: &Arc<Self>,
        permit: OwnedSemaphorePermit,
        slots: &Arc<Slots>,
        callers: &Arc<[Caller]>,
    ) -> Held {
        let number = self.book().holds(Entry {
            slots: Arc::clone(slots),
            callers: Arc::clone(callers),
        });
        Held {
            _permit: permit,
            waits: Arc::clone(self),
            number,
        }
    }

    /// Records a waiting call. A call that holds nothing blocks no other call, so it is not
    /// recorded.
    fn wait(
        &self,
        slots: &Arc<Slots>,
        callers: &Arc<[Caller]>,
    ) -> Result<Option<Waiting<'_>>, NoSlot> {
        let mut book = self.book();
        if !callers
            .iter()
            .any(|caller| book.holding.contains_key(caller))
        {
            return Ok(None);
        }
        let entry = Entry {
            slots: Arc::clone(slots),
            callers: Arc::clone(callers),
        };
        if !book.surely_comes(&entry) && book.never_comes(&entry) {
            return Err(NoSlot::Never);
        }
        let number = book.waits_for(entry);
        Ok(Some(Waiting {
            waits: self,
            number,
        }))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn kind(&self) -> usize {
        Arc::as_ptr(&self.slots).addr()
    }
}

impl Book {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn holds(&mut self, entry: Entry) -> u64 {
        if let Some(holder) = entry.callers.first() {
            add(self.holders.entry(entry.kind()).or_default(), *holder);
            add(&mut self.holding, *holder);
        }
        let number = self.number();
        self.held.insert(number, entry);
        number
    }

    fn gives_back(&mut self, number: u64) {
        let Some(entry) = self.held.remove(&number) else {
            return;
        };
        let Some(holder) = entry.callers.first() else {
            return;
        };
        take_off(&mut self.holding, holder);
        if let Some(holders) = self.holders.get_mut(&entry.kind()) {
            take_off(holders, holder);
            if holders.is_empty() {
                self.holders.remove(&entry.kind());
            }
        }
    }

    fn waits_for(&mut self, entry: Entry) -> u64 {
        entry
            .callers
            .iter()
            .for_each(|caller| add(&mut self.held_up, *caller));
        let number = self.number();
        self.waiting.insert(number, entry);
        number
    }

    fn waits_no_more(&mut self, number: u64) {
        let Some(entry) = self.waiting.remove(&number) else {
            return;
        };
        entry
            .callers
            .iter()
            .for_each(|caller| take_off(&mut self.held_up, caller));
    }

    /// A quick check that succeeds for almost every wait: some holder waits for nothing.
    fn surely_comes(&self, wanted: &Entry) -> bool {
        self.comes(wanted, |holder| {
            !self.held_up.contains_key(holder) && !wanted.callers.contains(holder)
        })
    }

    /// Whether a slot will come if the holders that `is_free` accepts finish. If the book lists
    /// fewer holders than there are slots, one is just being released.
    fn comes(&self, wanted: &Entry, is_free: impl Fn(&Caller) -> bool) -> bool {
        let Some(holders) = self.holders.get(&wanted.kind()) else {
            return true;
        };
        holders.values().sum::<usize>() < wanted.slots.most || holders.keys().any(is_free)
    }

    /// Whether this wait would never end. A slot comes when one of its holders ends, and a call
    /// ends when everything nested in it gets its slots. So cross out waits that can end, one after
    /// the other, until no more can.
    fn never_comes(&self, wanted: &Entry) -> bool {
        let mut waiting: Vec<&Entry> = self.waiting.values().chain([wanted]).collect();
        let mut held_up = self.held_up.clone();
        wanted
            .callers
            .iter()
            .for_each(|caller| add(&mut held_up, *caller));
        loop {
            let before = waiting.len();
            waiting.retain(|entry| {
                let comes = self.comes(entry, |holder| !held_up.contains_key(holder));
                if comes {
                    entry
                        .callers
                        .iter()
                        .for_each(|caller| take_off(&mut held_up, caller));
                }
                !comes
            });
            if waiting.len() == before {
                return waiting.iter().any(|entry| std::ptr::eq(*entry, wanted));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::task::JoinHandle;

    /// The callers with these numbers: a call, then the calls that contain it.
    fn callers<const N: usize>(numbers: [usize; N]) -> Arc<[Caller]> {
        numbers.into_iter().map(Caller).collect()
    }

    /// Starts to wait, and returns the outcome.
    async fn waits<const N: usize>(
        waits: &Arc<Waits>,
        slots: &Arc<Slots>,
        call: [usize; N],
    ) -> JoinHandle<Result<Held, NoSlot>> {
        let (waits, slots) = (Arc::clone(waits), Arc::clone(slots));
        let waiting = tokio::spawn(async move { waits.wait_for(&slots, &callers(call)).await });
        tokio::time::sleep(Duration::from_millis(5)).await;
        waiting
    }

    async fn never(waiting: JoinHandle<Result<Held, NoSlot>>) -> bool {
        matches!(waiting.await, Ok(Err(NoSlot::Never)))
    }

    async fn comes(waiting: JoinHandle<Result<Held, NoSlot>>) -> Held {
        waiting.await.expect("no panic").expect("a slot")
    }

    #[tokio::test]
    async fn a_call_inside_every_holder_of_a_slot_is_refused_and_others_wait() {
        let (book, slots) = (Arc::new(Waits::default()), Slots::new(2));
        let outer = book.take(&slots, &callers([1])).expect("free");
        let inner = book.take(&slots, &callers([2, 1])).expect("free");
        assert!(book.take(&slots, &callers([3, 2, 1])).is_none());
        assert!(never(waits(&book, &slots, [3, 2, 1]).await).await);
        let sibling = waits(&book, &slots, [4, 1]).await;
        let stranger = waits(&book, &slots, [9]).await;
        assert!(!sibling.is_finished() && !stranger.is_finished());
        drop(inner);
        let sibling = comes(sibling).await;
        drop((sibling, outer));
        drop(comes(stranger).await);
        let Book {
            held,
            waiting,
            holders,
            holding,
            held_up,
            ..
        } = &*book.book();
        assert!(
            held.is_empty()
                && waiting.is_empty()
                && holders.is_empty()
                && holding.is_empty()
                && held_up.is_empty(),
            "all are off the book"
        );
    }

    #[tokio::test]
    async fn calls_never_wait_in_a_circle_of_any_length() {
        let book = Arc::new(Waits::default());
        let kinds: Vec<Arc<Slots>> = (0..4).map(|_| Slots::new(1)).collect();
        let mut held: Vec<Held> = (0..4)
            .map(|call| book.take(&kinds[call], &callers([call])).expect("free"))
            .collect();
        let mut waiting = Vec::new();
        for call in 0..3 {
            waiting.push(waits(&book, &kinds[call + 1], [10 + call, call]).await);
        }
        assert!(
            never(waits(&book, &kinds[0], [13, 3]).await).await,
            "each would wait for the next"
        );
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
        // The last call ends without its slot, and then each in turn.
        while let Some(waiting) = waiting.pop() {
            drop(held.pop());
            drop(comes(waiting).await);
        }
    }

    #[tokio::test]
    async fn one_holder_that_does_not_wait_is_enough() {
        let (book, two, one) = (Arc::new(Waits::default()), Slots::new(2), Slots::new(1));
        let _first = book.take(&two, &callers([1])).expect("free");
        let second = book.take(&two, &callers([2])).expect("free");
        let _third = book.take(&one, &callers([3])).expect("free");
        let inside_first = waits(&book, &one, [11, 1]).await;
        let inside_third = waits(&book, &two, [13, 3]).await;
        assert!(
            !inside_third.is_finished(),
            "the first waits for the third, and the second does not wait"
        );
        assert!(
            never(waits(&book, &one, [12, 2]).await).await,
            "now it would be all of them"
        );
        drop(second);
        drop(comes(inside_third).await);
        inside_first.abort();
        let _ = inside_first.await;
        assert!(book.book().waiting.is_empty());
    }

    #[test]
    fn a_wait_does_not_search_all_other_waits() {
        const MANY: usize = 20_000;
        let (book, outer, inner) = (Arc::new(Waits::default()), Slots::new(MANY), Slots::new(8));
        let _busy: Vec<_> = (0..8)
            .map(|call| book.take(&inner, &callers([call])).expect("free"))
            .collect();
        let started = std::time::Instant::now();
        let mut waiting = Vec::new();
        for call in 100..100 + MANY {
            let around = book.take(&outer, &callers([call])).expect("free");
            waiting.push((
                book.wait(&inner, &callers([MANY + call, call]))
                    .expect("it comes")
                    .expect("it is written down"),
                around,
            ));
        }
        drop(waiting);
        // Scanning all of them each time would take minutes.
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "{:?}",
            started.elapsed()
        );
    }
}
