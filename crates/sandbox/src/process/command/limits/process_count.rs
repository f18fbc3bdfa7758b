//! How many processes a user runs, including threads.
//!
//! Without a user namespace and without a cgroup, the kernel's process limit covers everything that
//! the command's user runs. So the harness counts these and raises the limit accordingly. Reading
//! all of `/proc` takes half as long as starting a program, so it happens beside a call or after
//! it, and the next call only looks at the numbers assigned since then, or, if there are few,
//! counts them all. It reads everything again if there are too many, or if so many processes ended
//! that the limit would be too high.

use crate::lock::lock;
use crate::process::child::opened_once;
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::task::JoinHandle;

/// Remembers the last count.
#[derive(Debug, Default)]
pub(crate) struct ProcessCounter {
    last: Mutex<Option<ProcessCount>>,
}

/// What one user ran at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ProcessCount {
    uid: u32,
    /// The user's processes and threads.
    own: u64,
    /// `None` if later starts cannot be detected.
    then: Option<KernelCounts>,
}

/// What the kernel says about all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KernelCounts {
    /// How many there are, including threads.
    all: u64,
    /// The number assigned last.
    newest: u64,
}

/// A count that may still be running.
pub(crate) enum PendingCount {
    /// Derived from the last one.
    Done(u64),
    /// On another thread.
    Running(JoinHandle<u64>),
}

impl PendingCount {
    /// Starts counting; a count derived from the last one may be `more` too high.
    pub(crate) fn begin(counter: &Arc<ProcessCounter>, uid: u32, more: u64) -> Self {
        let again = counter.clone();
        counter.estimate(uid, more).map_or_else(
            || Self::Running(tokio::task::spawn_blocking(move || again.count(uid))),
            Self::Done,
        )
    }

    pub(crate) async fn end(self, counter: &ProcessCounter, uid: u32) -> u64 {
        match self {
            Self::Done(count) => count,
            Self::Running(counting) => counting.await.unwrap_or_else(|_| counter.count(uid)),
        }
    }
}

/// How many new numbers to check one by one.
const MOST_NEW: u64 = 256;

impl ProcessCounter {
    /// How many there are now, if the last count tells: never fewer, and at most `more` too many.
    fn estimate(&self, uid: u32, more: u64) -> Option<u64> {
        let last = (*lock(&self.last)).filter(|last| last.uid == uid)?;
        let (started, ended) = started_since(last.then?, KernelCounts::now()?, more)?;
        let count = started.end - started.start;
        // So few that their owner does not matter.
        if count + ended <= more {
            return Some(last.own + count);
        }
        Some(last.own + started.filter(|number| owner(*number) == Some(uid)).count() as u64)
    }

    /// Counts all of them.
    pub(crate) fn count(&self, uid: u32) -> u64 {
        let last = ProcessCount::of(uid);
        *lock(&self.last) = Some(last);
        last.own
    }
}

/// The numbers assigned between two times, and how many processes may have ended; `None` if those
/// are more than `most`, or there are too many numbers.
fn started_since(then: KernelCounts, now: KernelCounts, most: u64) -> Option<(Range<u64>, u64)> {
    // Numbers wrap around.
    let count = now
        .newest
        .checked_sub(then.newest)
        .filter(|count| *count <= MOST_NEW)?;
    let ended = (then.all + count).checked_sub(now.all)?;
    (ended <= most).then_some((then.newest + 1..now.newest + 1, ended))
}

impl ProcessCount {
    fn of(uid: u32) -> Self {
        // Read first: a process that starts meanwhile may be counted twice, but is not missed.
        let then = KernelCounts::now().filter(|_| is_own_proc());
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
        let own = numbers
            .filter(|number| owner(*number) == Some(uid))
            .map(threads)
            .sum();
        Self { uid, own, then }
    }
}

impl KernelCounts {
    fn now() -> Option<Self> {
        static LOAD: OnceLock<Result<File, i32>> = OnceLock::new();
        let mut text = [0; 128];
        let count = opened_once(&LOAD, || File::open("/proc/loadavg"))
            .ok()?
            .read_at(&mut text, 0)
            .ok()?;
        Self::read(std::str::from_utf8(text.get(..count)?).ok()?)
    }

    /// Parses three load averages, running and total processes, and the newest number.
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().skip(3);
        let (_, all) = words.next()?.split_once('/')?;
        Some(Self {
            all: all.parse().ok()?,
            newest: words.next()?.parse().ok()?,
        })
    }
}

/// The owner of a process or thread; `None` if it does not exist.
fn owner(number: u64) -> Option<u32> {
    facts(&format!("/proc/{number}")).map(|facts| facts.stx_uid)
}

/// How many threads a process has, from the link count of their folder.
fn threads(number: u64) -> u64 {
    facts(&format!("/proc/{number}/task")).map_or(1, |facts| {
        u64::from(facts.stx_nlink).saturating_sub(2).max(1)
    })
}

fn facts(path: &str) -> Option<Statx> {
    statx(
        CWD,
        path,
        AtFlags::empty(),
        StatxFlags::UID | StatxFlags::NLINK,
    )
    .ok()
}

/// Whether `/proc` belongs to our PID namespace, and not to the machine around a container.
fn is_own_proc() -> bool {
    fs::read_link("/proc/self")
        .is_ok_and(|own| own.to_str() == Some(&std::process::id().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn uid() -> u32 {
        rustix::process::geteuid().as_raw()
    }

    #[test]
    fn new_threads_are_counted_without_a_full_scan() {
        let counter = ProcessCounter::default();
        assert_eq!(counter.estimate(uid(), u64::MAX), None);
        const MORE: usize = 40;
        // Other processes of this user may come and go meanwhile; then try again.
        let tried = (0..50).any(|_| {
            let before = counter.count(uid());
            let barrier = Barrier::new(MORE + 1);
            std::thread::scope(|scope| {
                (0..MORE).for_each(|_| drop(scope.spawn(|| (barrier.wait(), barrier.wait()))));
                barrier.wait();
                let (estimate, counted) = (
                    counter.estimate(uid(), MORE as u64),
                    ProcessCount::of(uid()).own,
                );
                barrier.wait();
                estimate.is_some_and(|estimate| {
                    estimate >= before + MORE as u64 && estimate.abs_diff(counted) <= 3
                })
            })
        });
        assert!(tried, "threads were not counted");
        assert_eq!(
            counter.estimate(uid() + 1, u64::MAX),
            None,
            "another user was not counted"
        );
    }

    #[test]
    fn an_unreliable_estimate_counts_again() {
        let check = |then: (u64, u64), now: (u64, u64), most: u64, expected: Option<u64>| {
            let counts = |(all, newest)| KernelCounts { all, newest };
            let started = started_since(counts(then), counts(now), most)
                .map(|(numbers, _)| numbers.count() as u64);
            assert_eq!(started, expected, "{then:?} {now:?}");
        };
        check((100, 5000), (100, 5000), 0, Some(0));
        check((100, 5000), (103, 5003), 0, Some(3));
        check((100, 5000), (100, 5003), 3, Some(3));
        // Too many ended.
        check((100, 5000), (100, 5003), 2, None);
        check((100, 5000), (40, 5003), 8, None);
        // Too many started.
        check((100, 5000), (400, 5300), 8, None);
        // The numbers wrapped around.
        check((100, 5000), (103, 300), 8, None);
        // Others started that have no number here.
        check((100, 5000), (110, 5003), 8, None);
    }

    #[test]
    fn loadavg_is_parsed_and_other_text_is_not() {
        assert_eq!(
            KernelCounts::read("3.14 3.68 3.35 8/155 25590\n"),
            Some(KernelCounts {
                all: 155,
                newest: 25590
            })
        );
        for odd in ["", "1 2 3", "1 2 3 155 7", "1 2 3 8/x 7", "1 2 3 8/9"] {
            assert_eq!(KernelCounts::read(odd), None, "{odd}");
        }
        assert!(KernelCounts::now().is_some());
    }
}
