//! What only so many calls may have at once. Who holds a slot, and who waits for one meanwhile, is written down, so that nobody waits for what cannot
//! come: a call may hold slots and wait, inside of it, for others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many slots of one kind.
#[derive(Debug)]
pub(crate) struct Slots {
    free: Arc<Semaphore>,
    most: usize,
}

impl Slots {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self { free: Arc::new(Semaphore::new(most)), most })
    }
}

/// A call, by where its context stands for as long as it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Caller(usize);

impl Caller {
    pub(crate) fn of<T>(context: &T) -> Self {
        Self(std::ptr::from_ref(context).addr())
    }
}

/// Why there is no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoSlot {
    /// All who hold one wait for the call that wants it.
    Never,
    /// There are none any more.
    Gone,
}

/// Who holds slots of an engine, and who waits for others meanwhile.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Book>);

#[derive(Debug, Default)]
struct Book {
    held: HashMap<u64, Entry>,
    waiting: HashMap<u64, Entry>,
    next: u64,
}

/// A slot that is held or waited for.
#[derive(Clone, Debug)]
struct Entry {
    slots: Arc<Slots>,
    /// The call, and then those that it is inside of.
    callers: Arc<[Caller]>,
}

/// A slot, until it is dropped.
pub(crate) struct Held {
    // Given back after it is off the book, so that none is ever on it that nobody holds.
    _permit: OwnedSemaphorePermit,
    waits: Arc<Waits>,
    number: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.waits.book().held.remove(&self.number);
    }
}

/// Somebody who waits.
struct Waiting<'a> {
    waits: &'a Waits,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.waits.book().waiting.remove(&self.number);
    }
}

impl Waits {
    /// A slot for a call, if one is free.
    pub(crate) fn take(self: &Arc<Self>, slots: &Arc<Slots>, callers: &Arc<[Caller]>) -> Option<Held> {
        let permit = Arc::clone(&slots.free).try_acquire_owned().ok()?;
        Some(self.hold(permit, slots, callers))
    }

    /// A slot for a call, as soon as somebody gives one back; refused where nobody can.
    pub(crate) async fn wait_for(self: &Arc<Self>, slots: &Arc<Slots>, callers: &Arc<[Caller]>) -> Result<Held, NoSlot> {
        let waiting = self.wait(slots, callers)?;
        let permit = Arc::clone(&slots.free).acquire_owned().await.map_err(|_| NoSlot::Gone)?;
        drop(waiting);
        Ok(self.hold(permit, slots, callers))
    }

    fn hold(self: &Arc<Self>, permit: OwnedSemaphorePermit, slots: &Arc<Slots>, callers: &Arc<[Caller]>) -> Held {
        let mut book = self.book();
        let number = book.number();
        book.held.insert(number, Entry { slots: Arc::clone(slots), callers: Arc::clone(callers) });
        Held { _permit: permit, waits: Arc::clone(self), number }
    }

    /// Writes down who waits. Who holds nothing, nobody waits for, and need not be.
    fn wait(&self, slots: &Arc<Slots>, callers: &Arc<[Caller]>) -> Result<Option<Waiting<'_>>, NoSlot> {
        let mut book = self.book();
        if !book.held.values().any(|held| held.callers.first().is_some_and(|holder| callers.contains(holder))) {
            return Ok(None);
        }
        let entry = Entry { slots: Arc::clone(slots), callers: Arc::clone(callers) };
        if book.never_comes(&entry) {
            return Err(NoSlot::Never);
        }
        let number = book.number();
        book.waiting.insert(number, entry);
        Ok(Some(Waiting { waits: self, number }))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Whether who waits for this, too, would wait for ever. A slot comes when one of those who hold it ends, and a call ends when whatever
    /// is inside of it has what it waits for: so waits that come to an end are crossed out, one after the other, until none does.
    fn never_comes(&self, wanted: &Entry) -> bool {
        let mut waiting: Vec<&Entry> = self.waiting.values().chain([wanted]).collect();
        let mut held_up: HashMap<Caller, usize> = HashMap::new();
        waiting.iter().flat_map(|entry| entry.callers.iter()).for_each(|caller| *held_up.entry(*caller).or_default() += 1);
        let mut holders: HashMap<*const Slots, Vec<Caller>> = HashMap::new();
        for held in self.held.values() {
            holders.entry(Arc::as_ptr(&held.slots)).or_default().extend(held.callers.first());
        }
        loop {
            let before = waiting.len();
            waiting.retain(|entry| {
                let holders = holders.get(&Arc::as_ptr(&entry.slots)).map_or(&[][..], Vec::as_slice);
                let is_free = |holder: &Caller| held_up.get(holder).is_none_or(|waits| *waits == 0);
                // Where fewer are on the book than there are slots, one is on its way to somebody.
                let comes = holders.len() < entry.slots.most || holders.iter().any(is_free);
                if comes {
                    entry.callers.iter().for_each(|caller| *held_up.entry(*caller).or_default() -= 1);
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

    /// Calls by number, each with those that it is inside of.
    fn callers<const N: usize>(numbers: [usize; N]) -> Arc<[Caller]> {
        numbers.into_iter().map(Caller).collect()
    }

    /// Begins to wait, and gives what comes of it.
    async fn waits<const N: usize>(waits: &Arc<Waits>, slots: &Arc<Slots>, call: [usize; N]) -> JoinHandle<Result<Held, NoSlot>> {
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
    async fn who_is_inside_of_all_that_hold_a_slot_is_refused_and_everybody_else_waits() {
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
        assert!(book.book().held.is_empty() && book.book().waiting.is_empty(), "whoever is gone is off the book");
    }

    #[tokio::test]
    async fn no_circle_is_closed_however_many_are_in_it() {
        let book = Arc::new(Waits::default());
        let kinds: Vec<Arc<Slots>> = (0..4).map(|_| Slots::new(1)).collect();
        let mut held: Vec<Held> = (0..4).map(|call| book.take(&kinds[call], &callers([call])).expect("free")).collect();
        let mut waiting = Vec::new();
        for call in 0..3 {
            waiting.push(waits(&book, &kinds[call + 1], [10 + call, call]).await);
        }
        assert!(never(waits(&book, &kinds[0], [13, 3]).await).await, "each would wait for the next");
        assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
        // The last one ends without it, and so does one after the other.
        while let Some(waiting) = waiting.pop() {
            drop(held.pop());
            drop(comes(waiting).await);
        }
    }

    #[tokio::test]
    async fn one_who_holds_a_slot_and_waits_for_nobody_is_enough() {
        let (book, two, one) = (Arc::new(Waits::default()), Slots::new(2), Slots::new(1));
        let _first = book.take(&two, &callers([1])).expect("free");
        let second = book.take(&two, &callers([2])).expect("free");
        let _third = book.take(&one, &callers([3])).expect("free");
        let inside_first = waits(&book, &one, [11, 1]).await;
        let inside_third = waits(&book, &two, [13, 3]).await;
        assert!(!inside_third.is_finished(), "the first waits for the third, and the second for nobody");
        assert!(never(waits(&book, &one, [12, 2]).await).await, "now it would be all of them");
        drop(second);
        drop(comes(inside_third).await);
        inside_first.abort();
        let _ = inside_first.await;
        assert!(book.book().waiting.is_empty());
    }
}
