//! Who takes the events, and how: on the path, or from a queue by a thread of its own.
//!
//! A queue is bounded. A sink behind one can be as slow as it likes, wait for ever or panic: no
//! call notices, unless the sink asked to be waited for, and then none waits beyond its own time,
//! nor for a sink that stands still.

use super::{Delivery, Event, EventRef, Payloads, Sink, is_end};
use crate::isolate::caught;
use serde_json::{Map, json};
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// Events that wait for one sink.
const ROOM: usize = 1024;
/// Ends of calls that wait beside them: they are not dropped for others.
const ROOM_FOR_ENDS: usize = 65_536;
/// A sink that has taken nothing for so long is not waited for until it takes something again: it
/// may wait for whoever waits for it.
pub(crate) const STILL: Duration = Duration::from_secs(5);
/// How much longer than its call an end may wait, while its sink moves: as good as for ever.
const LONG: Duration = Duration::from_secs(365 * 86_400);
/// How often, and how long each time, an idle thread looks again before it has to be woken: waking
/// one costs more than an event.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// A sink with the way to it.
pub(crate) struct Listener {
    sink: Arc<dyn Sink>,
    queue: Option<Queue>,
    payloads: Payloads,
    /// How often it panicked on the path.
    panicked: AtomicU64,
}

impl Listener {
    pub(crate) fn new(sink: Arc<dyn Sink>) -> Self {
        // One that cannot say what it wants gets no payloads, and holds nobody up.
        let queue = match caught(|| sink.delivery()).unwrap_or(Delivery::Counting) {
            Delivery::OnThePath => None,
            overflow => Some(Queue::new(Arc::clone(&sink), overflow)),
        };
        let payloads = caught(|| sink.payloads()).unwrap_or(Payloads::LeftOut);
        Self {
            payloads,
            queue,
            sink,
            panicked: AtomicU64::new(0),
        }
    }

    /// Whether it wants what goes in and comes out.
    pub(crate) fn payloads(&self) -> Payloads {
        self.payloads
    }

    /// Takes an event, or a place in the queue for it; who has to wait for one waits no longer than
    /// until then.
    pub(crate) fn take(&self, event: &EventRef<'_>, until: Instant) {
        match &self.queue {
            Some(queue) => queue.put(event, until),
            None => {
                if caught(|| self.sink.record(event)).is_none() {
                    self.panicked.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// Whether a call has to wait for it.
    pub(crate) fn holds_up(&self, until: Instant) -> bool {
        self.queue.as_ref().is_some_and(|queue| {
            queue
                .patience(&mut queue.shared.lock(), ROOM, until)
                .is_some()
        })
    }

    /// Waits for it without holding up a thread, which it may need itself.
    pub(crate) async fn room(&self, until: Instant) {
        let Some(queue) = &self.queue else { return };
        loop {
            let mut emptied = pin!(queue.shared.room.notified());
            // Whatever is taken from here on is heard of.
            emptied.as_mut().enable();
            let Some(patience) = queue.patience(&mut queue.shared.lock(), ROOM, until) else {
                return;
            };
            let _ = timeout(patience, emptied).await;
        }
    }

    /// Events that it did not take: dropped, or because it panicked.
    pub(crate) fn missed(&self) -> u64 {
        self.panicked.load(Ordering::Relaxed)
            + self
                .queue
                .as_ref()
                .map_or(0, |queue| queue.shared.lock().missed)
    }

    /// Whether it has taken everything so far.
    pub(crate) fn is_done(&self) -> bool {
        self.queue.as_ref().is_none_or(|queue| {
            let state = queue.shared.lock();
            queue.shared.filled.notify_one();
            state.events.is_empty() && !state.busy
        })
    }
}

struct Queue {
    shared: Arc<Waiting>,
    sink: Arc<dyn Sink>,
    overflow: Delivery,
}

struct Waiting {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
    /// The same for those who wait without a thread.
    room: Notify,
    /// Events that were passed on.
    passed: AtomicU64,
}

struct State {
    events: VecDeque<Event>,
    /// Since the last event that was passed on.
    dropped: u64,
    missed: u64,
    started: bool,
    asleep: bool,
    busy: bool,
    closed: bool,
    /// How many were passed on when somebody last looked, and since when it is no more although
    /// there are some.
    moved: (u64, Instant),
    /// The thread that passes events on. What it puts here itself nobody else could make room for.
    thread: Option<thread::ThreadId>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            dropped: 0,
            missed: 0,
            started: false,
            asleep: false,
            busy: false,
            closed: false,
            moved: (0, Instant::now()),
            thread: None,
        }
    }
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn new(sink: Arc<dyn Sink>, overflow: Delivery) -> Self {
        let (filled, emptied, room) = (Condvar::new(), Condvar::new(), Notify::new());
        let shared = Arc::new(Waiting {
            state: Mutex::default(),
            filled,
            emptied,
            room,
            passed: AtomicU64::new(0),
        });
        Self {
            shared,
            sink,
            overflow,
        }
    }

    /// How long somebody who wants one of so many places has to wait for it at most; nothing for
    /// one who need not, or must not any more.
    fn patience(&self, state: &mut State, most: usize, until: Instant) -> Option<Duration> {
        let is_sink = || state.thread == Some(thread::current().id());
        if self.overflow != Delivery::Waiting
            || state.events.len() < most
            || state.closed
            || is_sink()
        {
            return None;
        }
        let (now, passed) = (Instant::now(), self.shared.passed.load(Ordering::Relaxed));
        if passed != state.moved.0 {
            state.moved = (passed, now);
        }
        let still = STILL.checked_sub(now - state.moved.1)?;
        Some(still.min(until.checked_duration_since(now)?)).filter(|patience| !patience.is_zero())
    }

    fn put(&self, event: &EventRef<'_>, until: Instant) {
        let is_end = is_end(event.name);
        {
            let mut state = self.shared.lock();
            // A call that starts waits as soon as it can do so without its thread, and until then
            // its start is with the ends.
            let waits_later =
                event.name == "tool.started" && self.patience(&mut state, ROOM, until).is_some();
            let most = if is_end || waits_later {
                ROOM + ROOM_FOR_ENDS
            } else {
                ROOM
            };
            // An end is not given up because the call has no time left.
            let until = if is_end {
                until.checked_add(LONG).unwrap_or(until)
            } else {
                until
            };
            while let Some(patience) = self.patience(&mut state, most, until) {
                state = self
                    .shared
                    .emptied
                    .wait_timeout(state, patience)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            if state.events.len() >= most || !self.is_started(&mut state) {
                state.dropped += 1;
                state.missed += 1;
                return;
            }
        }
        // Its fields are made while nobody waits for the lock.
        let event = event.to_event();
        let mut state = self.shared.lock();
        if state.events.is_empty() && !state.busy {
            // Until now there was nothing to pass on.
            state.moved.1 = Instant::now();
        }
        state.events.push_back(event);
        if state.asleep {
            self.shared.filled.notify_one();
        }
    }

    /// Starts the thread when there is something to pass on for the first time.
    fn is_started(&self, state: &mut State) -> bool {
        if !state.started {
            let (shared, sink) = (Arc::clone(&self.shared), Arc::clone(&self.sink));
            state.started = thread::Builder::new()
                .name("harness-sink".to_owned())
                .spawn(move || pass_on(&shared, &*sink))
                .is_ok();
        }
        state.started
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // The thread passes on what is there, and ends. Nobody waits for it: it may be stuck in its
        // sink.
        self.shared.lock().closed = true;
        self.shared.filled.notify_all();
        self.shared.emptied.notify_all();
        self.shared.room.notify_waiters();
    }
}

/// Passes events on until the queue is closed and empty.
fn pass_on(shared: &Waiting, sink: &dyn Sink) {
    shared.lock().thread = Some(thread::current().id());
    while let Some((events, dropped)) = next(shared) {
        if dropped > 0 {
            record(shared, sink, &notice(&events, dropped));
        }
        events.iter().for_each(|event| record(shared, sink, event));
        shared.lock().busy = false;
    }
}

/// A sink that panics misses the event, and nothing else.
fn record(shared: &Waiting, sink: &dyn Sink, event: &Event) {
    if caught(|| sink.record(&event.as_it_happened())).is_none() {
        shared.lock().missed += 1;
    }
    shared.passed.fetch_add(1, Ordering::Relaxed);
}

/// All that waits, and how much was dropped before it.
fn next(shared: &Waiting) -> Option<(VecDeque<Event>, u64)> {
    let mut looks = 0;
    let mut state = shared.lock();
    while state.events.is_empty() {
        if state.closed {
            return None;
        }
        state.asleep = looks >= LOOKS;
        state = if state.asleep {
            shared
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner)
        } else {
            shared
                .filled
                .wait_timeout(state, PAUSE)
                .unwrap_or_else(PoisonError::into_inner)
                .0
        };
        looks += 1;
    }
    state.asleep = false;
    state.busy = true;
    let taken = (
        std::mem::take(&mut state.events),
        std::mem::take(&mut state.dropped),
    );
    state.moved.1 = Instant::now();
    shared.emptied.notify_all();
    shared.room.notify_waiters();
    Some(taken)
}

/// Tells a sink what it missed because it was slow.
fn notice(events: &VecDeque<Event>, dropped: u64) -> Event {
    let message =
        format!("{dropped} events were not passed on to this sink, which was too slow for them");
    let fields = json!({"level": "warn", "message": message, "fields": {"dropped": dropped}, "source": "harness"});
    Event {
        name: "log".to_owned(),
        time: SystemTime::now(),
        session_id: events
            .front()
            .map(|event| event.session_id.clone())
            .unwrap_or_default(),
        call_id: None,
        fields: fields.as_object().cloned().unwrap_or_else(Map::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A sink that goes on only when it is let.
    struct Gate {
        let_on: Mutex<Receiver<()>>,
        names: Mutex<Vec<String>>,
        how: Delivery,
    }

    impl Sink for Gate {
        fn record(&self, event: &EventRef<'_>) {
            let _ = self.let_on.lock().expect("the gate").recv();
            self.names
                .lock()
                .expect("names")
                .push(event.name.to_owned());
            assert_ne!(event.name, "panic", "as it was told");
        }

        fn delivery(&self) -> Delivery {
            self.how
        }
    }

    fn gate(how: Delivery) -> (Sender<()>, Arc<Gate>, Listener) {
        let (open, let_on) = channel();
        let gate = Arc::new(Gate {
            let_on: Mutex::new(let_on),
            names: Mutex::default(),
            how,
        });
        (open, Arc::clone(&gate), Listener::new(gate))
    }

    fn send(listener: &Listener, name: &str) {
        send_by(listener, name, Duration::from_secs(60));
    }

    fn send_by(listener: &Listener, name: &str, time: Duration) {
        listener.take(
            &EventRef::new(name, "s", None, &Map::new),
            Instant::now() + time,
        );
    }

    /// Whether its sink has all that there was.
    fn is_at_work(listener: &Listener) -> bool {
        let state = listener.queue.as_ref().expect("a queue").shared.lock();
        state.busy && state.events.is_empty()
    }

    /// A sink that is at its first event, and a full queue behind that.
    fn full() -> (Sender<()>, Arc<Gate>, Listener) {
        let (open, gate, listener) = gate(Delivery::Waiting);
        send(&listener, "tool.progress");
        wait_until(|| is_at_work(&listener));
        (0..ROOM).for_each(|_| send(&listener, "tool.progress"));
        (open, gate, listener)
    }

    fn wait_until(what: impl Fn() -> bool) {
        for _ in 0..5000 {
            if what() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("it never came");
    }

    #[test]
    fn a_sink_that_is_stuck_loses_what_can_be_lost_and_is_told_but_no_end_of_a_call() {
        let (open, gate, listener) = gate(Delivery::Counting);
        for _ in 0..3 * ROOM {
            send(&listener, "tool.started");
            send(&listener, "tool.completed");
        }
        assert!(
            !listener.is_done() && listener.missed() > ROOM as u64,
            "nobody waited for it"
        );
        drop(open);
        wait_until(|| listener.is_done());
        let names = gate.names.lock().expect("names");
        let count = |name: &str| names.iter().filter(|known| *known == name).count();
        assert_eq!(count("tool.completed"), 3 * ROOM);
        assert_eq!(
            count("tool.started") as u64 + listener.missed(),
            3 * ROOM as u64
        );
        // Once for each time the queue was full; its thread may have begun before the first was.
        assert!((1..=2).contains(&count("log")), "{}", count("log"));
    }

    #[test]
    fn a_sink_that_asks_to_be_waited_for_misses_nothing() {
        let (open, gate, listener) = gate(Delivery::Waiting);
        let writer = thread::spawn(move || {
            (0..3 * ROOM).for_each(|_| send(&listener, "tool.progress"));
            listener
        });
        thread::sleep(Duration::from_millis(50));
        assert!(!writer.is_finished(), "the queue is bounded");
        drop(open);
        let listener = writer.join().expect("written");
        wait_until(|| listener.is_done());
        assert_eq!(
            (gate.names.lock().expect("names").len(), listener.missed()),
            (3 * ROOM, 0)
        );
    }

    #[test]
    fn nobody_waits_for_a_sink_beyond_his_own_time_and_no_end_is_lost_for_that() {
        let (open, gate, listener) = full();
        let started = Instant::now();
        send_by(&listener, "tool.progress", Duration::from_millis(50));
        assert!(
            (50..20_000).contains(&started.elapsed().as_millis()),
            "{:?}",
            started.elapsed()
        );
        assert_eq!(listener.missed(), 1);
        let started = Instant::now();
        (0..3 * ROOM).for_each(|_| send_by(&listener, "tool.completed", Duration::ZERO));
        assert!(
            started.elapsed() < STILL && listener.missed() == 1,
            "they have room of their own"
        );
        drop(open);
        wait_until(|| listener.is_done());
        let names = gate.names.lock().expect("names");
        assert_eq!(
            names
                .iter()
                .filter(|name| *name == "tool.completed")
                .count(),
            3 * ROOM
        );
        assert_eq!(
            names.iter().filter(|name| *name == "log").count(),
            1,
            "it is told"
        );
    }

    #[test]
    fn a_sink_that_stands_still_is_waited_for_once_and_again_when_it_has_gone_on() {
        let (open, gate, listener) = full();
        let started = Instant::now();
        (0..100).for_each(|_| send(&listener, "tool.progress"));
        assert!(
            (STILL / 2..20 * STILL).contains(&started.elapsed()),
            "{:?}",
            started.elapsed()
        );
        assert!(!listener.holds_up(Instant::now() + STILL));
        open.send(()).expect("open");
        wait_until(|| gate.names.lock().expect("names").len() == 1 && is_at_work(&listener));
        (0..ROOM).for_each(|_| send(&listener, "tool.progress"));
        assert!(listener.holds_up(Instant::now() + STILL));
    }

    #[test]
    fn a_sink_that_panics_misses_that_event_and_no_other() {
        for how in [Delivery::OnThePath, Delivery::Counting] {
            let (open, gate, listener) = gate(how);
            drop(open);
            ["tool.started", "panic", "tool.completed"]
                .iter()
                .for_each(|name| send(&listener, name));
            wait_until(|| listener.is_done());
            // The one that panicked holds the lock of its names no more, but left it in a bad
            // state.
            let names = gate.names.lock().unwrap_or_else(PoisonError::into_inner);
            assert_eq!(
                (names.as_slice(), listener.missed()),
                (
                    &["tool.started", "panic", "tool.completed"].map(str::to_owned)[..],
                    1
                )
            );
        }
    }

    #[test]
    fn what_waits_is_passed_on_after_the_engine_is_gone() {
        let (open, gate, listener) = gate(Delivery::Counting);
        (0..10).for_each(|_| send(&listener, "tool.progress"));
        drop(listener);
        drop(open);
        wait_until(|| gate.names.lock().expect("names").len() == 10);
    }
}
