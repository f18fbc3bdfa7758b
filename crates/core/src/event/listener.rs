//! Delivers events to sinks: on the path, or from a queue through a separate thread.
//!
//! A queue is bounded. A sink behind one may be slow, hang or panic without any call noticing,
//! unless the sink asked calls to wait. Even then no call waits beyond its own deadline, or for a
//! stalled sink.

use super::{Delivery, Event, EventKind, EventName, EventRef, Payloads, Sink};
use crate::isolate::caught;
use serde_json::json;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

/// How many events may wait for one sink.
const ROOM: usize = 1024;
/// Extra room for the ends of calls, so that they are not dropped in favour of other events.
const ROOM_FOR_ENDS: usize = 65_536;
/// After this long without progress, calls no longer wait for a sink until it makes progress again:
/// the sink may itself wait for the call that waits for it.
pub(crate) const STILL: Duration = Duration::from_secs(5);
/// How much longer than its call an end may wait while its sink makes progress: effectively
/// forever.
const LONG: Duration = Duration::from_secs(365 * 86_400);
/// How many times an idle thread polls, and how long each time, before it sleeps: waking a thread
/// costs more than an event.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// A sink and how events reach it.
pub(crate) struct Listener {
    sink: Arc<dyn Sink>,
    queue: Option<Queue>,
    payloads: Payloads,
    /// How many times it panicked on the path.
    panicked: AtomicU64,
}

impl Listener {
    pub(crate) fn new(sink: Arc<dyn Sink>) -> Self {
        // A sink whose settings panic gets no payloads, and delays no call.
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

    /// Whether it wants the payloads of calls.
    pub(crate) fn payloads(&self) -> Payloads {
        self.payloads
    }

    /// Delivers an event or queues it, waiting for room no longer than `until`.
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

    /// Whether a call has to wait for this sink.
    pub(crate) fn holds_up(&self, until: Instant) -> bool {
        self.queue.as_ref().is_some_and(|queue| {
            queue
                .patience(&mut queue.shared.lock(), ROOM, until)
                .is_some()
        })
    }

    /// Waits for room without blocking a thread, which the sink may need itself.
    pub(crate) async fn room(&self, until: Instant) {
        let Some(queue) = &self.queue else { return };
        loop {
            let mut emptied = pin!(queue.shared.room.notified());
            // Register before the check, so that no notification is missed.
            emptied.as_mut().enable();
            let Some(patience) = queue.patience(&mut queue.shared.lock(), ROOM, until) else {
                return;
            };
            let _ = timeout(patience, emptied).await;
        }
    }

    /// How many events it missed because they were dropped or it panicked.
    pub(crate) fn missed(&self) -> u64 {
        self.panicked.load(Ordering::Relaxed)
            + self
                .queue
                .as_ref()
                .map_or(0, |queue| queue.shared.lock().missed)
    }

    /// Whether it has taken every event so far.
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
    /// Like `emptied`, for async waiters.
    room: Notify,
    /// How many events were delivered.
    passed: AtomicU64,
}

struct State {
    events: VecDeque<Event>,
    /// Since the last delivered event.
    dropped: u64,
    missed: u64,
    started: bool,
    asleep: bool,
    busy: bool,
    closed: bool,
    /// The delivered count at the last check, and since when it has not grown although events wait.
    moved: (u64, Instant),
    /// The delivering thread. It must not wait for room in its own queue, because only it makes
    /// room.
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

    /// How long to wait at most for one of `most` places; `None` if there is room, or if waiting is
    /// not allowed or no longer worthwhile.
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
        let is_end = event.name.is_end();
        {
            let mut state = self.shared.lock();
            // A starting call waits later, where it can do so without blocking its thread. Until
            // then its start event uses the room for ends.
            let waits_later = event.name == EventName::ToolStarted
                && self.patience(&mut state, ROOM, until).is_some();
            let most = if is_end || waits_later {
                ROOM + ROOM_FOR_ENDS
            } else {
                ROOM
            };
            // An end may wait even if its call has no time left.
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
        // Build the event's fields without holding the lock.
        let event = event.to_event();
        let mut state = self.shared.lock();
        if state.events.is_empty() && !state.busy {
            // The sink was idle until now, so it is not stalled.
            state.moved.1 = Instant::now();
        }
        state.events.push_back(event);
        if state.asleep {
            self.shared.filled.notify_one();
        }
    }

    /// Starts the thread for the first event.
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
        // The thread delivers the remaining events and ends. Do not join it: it may be stuck in its
        // sink.
        self.shared.lock().closed = true;
        self.shared.filled.notify_all();
        self.shared.emptied.notify_all();
        self.shared.room.notify_waiters();
    }
}

/// Delivers events until the queue is closed and empty.
fn pass_on(shared: &Waiting, sink: &dyn Sink) {
    shared.lock().thread = Some(thread::current().id());
    while let Some((events, dropped)) = next(shared) {
        if dropped > 0 {
            let notice = notice(&events, dropped);
            notice.iter().for_each(|event| record(shared, sink, event));
        }
        events.iter().for_each(|event| record(shared, sink, event));
        shared.lock().busy = false;
    }
}

/// Delivers one event. A sink that panics misses only that event.
fn record(shared: &Waiting, sink: &dyn Sink, event: &Event) {
    if caught(|| sink.record(&event.as_it_happened())).is_none() {
        shared.lock().missed += 1;
    }
    shared.passed.fetch_add(1, Ordering::Relaxed);
}

/// All queued events, and how many were dropped before them.
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

/// The event that tells a sink how many events it missed, in the place of those.
fn notice(events: &VecDeque<Event>, dropped: u64) -> Option<Event> {
    let message =
        format!("{dropped} events were not passed on to this sink, which was too slow for them");
    Some(Event {
        kind: EventKind::warning(message, json!({"dropped": dropped})),
        time: SystemTime::now(),
        sequence: 0,
        call_id: None,
        ..events.front()?.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A sink that continues only when the test lets it.
    struct Gate {
        let_on: Mutex<Receiver<()>>,
        names: Mutex<Vec<EventName>>,
        how: Delivery,
    }

    impl Sink for Gate {
        fn record(&self, event: &EventRef<'_>) {
            let _ = self.let_on.lock().expect("the gate").recv();
            self.names.lock().expect("names").push(event.name);
            assert_ne!(event.name, EventName::Custom, "as it was told");
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

    /// An event of this name; a custom event makes the sink panic.
    fn kind(name: EventName) -> EventKind {
        let tool = "t".to_owned();
        match name {
            EventName::ToolStarted => EventKind::ToolStarted {
                tool,
                args_digest: String::new(),
                door: crate::door::Door::Library,
                mode: "default".to_owned(),
                args: None,
            },
            EventName::ToolCompleted => EventKind::ToolCompleted {
                tool,
                elapsed_ms: 0.0,
                stages_ms: crate::stage::StageTimes::default(),
                enforced: crate::result::Enforced::Host,
                redacted: None,
                artifacts: Vec::new(),
                result: None,
            },
            EventName::Custom => EventKind::Custom {
                event: "custom.panic".to_owned(),
                payload: json!({}),
                source: tool,
            },
            _ => EventKind::ToolProgress {
                fraction: 0.5,
                message: String::new(),
            },
        }
    }

    fn send(listener: &Listener, name: EventName) {
        send_by(listener, name, Duration::from_secs(60));
    }

    fn send_by(listener: &Listener, name: EventName, time: Duration) {
        let event = Event {
            kind: kind(name),
            time: SystemTime::now(),
            sequence: 1,
            session_id: "s".to_owned(),
            run_id: "r".to_owned(),
            turn_id: "t".to_owned(),
            call_id: None,
        };
        listener.take(&event.as_it_happened(), Instant::now() + time);
    }

    /// Whether the sink has taken every queued event and is still busy.
    fn is_at_work(listener: &Listener) -> bool {
        let state = listener.queue.as_ref().expect("a queue").shared.lock();
        state.busy && state.events.is_empty()
    }

    /// A sink stuck at its first event, with a full queue behind it.
    fn full() -> (Sender<()>, Arc<Gate>, Listener) {
        let (open, gate, listener) = gate(Delivery::Waiting);
        send(&listener, EventName::ToolProgress);
        wait_until(|| is_at_work(&listener));
        (0..ROOM).for_each(|_| send(&listener, EventName::ToolProgress));
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
            send(&listener, EventName::ToolStarted);
            send(&listener, EventName::ToolCompleted);
        }
        assert!(
            !listener.is_done() && listener.missed() > ROOM as u64,
            "no call waited for it"
        );
        drop(open);
        wait_until(|| listener.is_done());
        let names = gate.names.lock().expect("names");
        let count = |name: EventName| names.iter().filter(|known| **known == name).count();
        assert_eq!(count(EventName::ToolCompleted), 3 * ROOM);
        assert_eq!(
            count(EventName::ToolStarted) as u64 + listener.missed(),
            3 * ROOM as u64
        );
        // One for each time the queue filled up; the thread may have started before the first time.
        assert!(
            (1..=2).contains(&count(EventName::Log)),
            "{}",
            count(EventName::Log)
        );
    }

    #[test]
    fn a_sink_that_asks_to_be_waited_for_misses_nothing() {
        let (open, gate, listener) = gate(Delivery::Waiting);
        let writer = thread::spawn(move || {
            (0..3 * ROOM).for_each(|_| send(&listener, EventName::ToolProgress));
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
    fn no_call_waits_for_a_sink_beyond_its_own_time_and_no_end_is_lost() {
        let (open, gate, listener) = full();
        let started = Instant::now();
        send_by(
            &listener,
            EventName::ToolProgress,
            Duration::from_millis(50),
        );
        assert!(
            (50..20_000).contains(&started.elapsed().as_millis()),
            "{:?}",
            started.elapsed()
        );
        assert_eq!(listener.missed(), 1);
        let started = Instant::now();
        (0..3 * ROOM).for_each(|_| send_by(&listener, EventName::ToolCompleted, Duration::ZERO));
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
                .filter(|name| **name == EventName::ToolCompleted)
                .count(),
            3 * ROOM
        );
        assert_eq!(
            names.iter().filter(|name| **name == EventName::Log).count(),
            1,
            "it is told"
        );
    }

    #[test]
    fn a_sink_that_stands_still_is_waited_for_once_and_again_when_it_has_gone_on() {
        let (open, gate, listener) = full();
        let started = Instant::now();
        (0..100).for_each(|_| send(&listener, EventName::ToolProgress));
        assert!(
            (STILL / 2..20 * STILL).contains(&started.elapsed()),
            "{:?}",
            started.elapsed()
        );
        assert!(!listener.holds_up(Instant::now() + STILL));
        open.send(()).expect("open");
        wait_until(|| gate.names.lock().expect("names").len() == 1 && is_at_work(&listener));
        (0..ROOM).for_each(|_| send(&listener, EventName::ToolProgress));
        assert!(listener.holds_up(Instant::now() + STILL));
    }

    #[test]
    fn a_sink_that_panics_misses_that_event_and_no_other() {
        for how in [Delivery::OnThePath, Delivery::Counting] {
            let (open, gate, listener) = gate(how);
            drop(open);
            let sent = [
                EventName::ToolStarted,
                EventName::Custom,
                EventName::ToolCompleted,
            ];
            sent.iter().for_each(|name| send(&listener, *name));
            wait_until(|| listener.is_done());
            // The sink panicked while it held the lock of its names, and poisoned it.
            let names = gate.names.lock().unwrap_or_else(PoisonError::into_inner);
            assert_eq!((names.as_slice(), listener.missed()), (&sent[..], 1));
        }
    }

    #[test]
    fn what_waits_is_passed_on_after_the_engine_is_gone() {
        let (open, gate, listener) = gate(Delivery::Counting);
        (0..10).for_each(|_| send(&listener, EventName::ToolProgress));
        drop(listener);
        drop(open);
        wait_until(|| gate.names.lock().expect("names").len() == 10);
    }
}
