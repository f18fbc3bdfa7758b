//! How many processes a user runs, threads included.
//!
//! Without a user namespace and without a control group the kernel's limit on processes is about everything that the command's user runs. So
//! these are counted, and the limit set that much higher. Reading all of `/proc` takes half as long as starting a program: it is done beside a
//! call or after one, and the next call looks only at the numbers that were given out since, unless they are so few that it may count them
//! all. It reads everything again when these are too many, or when so many processes ended since that the limit would be wide.

use crate::process::child::kept;
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::task::JoinHandle;

/// The crowd as it was counted last.
#[derive(Debug, Default)]
pub(crate) struct Crowds {
    last: Mutex<Option<Crowd>>,
}

/// What one user ran at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Crowd {
    uid: u32,
    /// Processes and threads of the user.
    own: u64,
    /// `None` when nobody can say what came after.
    then: Option<Moment>,
}

/// What the kernel says about all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    /// How many there are, threads included.
    all: u64,
    /// The number that was given out last.
    newest: u64,
}

/// A count that may be under way.
pub(crate) enum Counting {
    /// Told from the last one.
    Done(u64),
    /// By another thread.
    Begun(JoinHandle<u64>),
}

impl Counting {
    /// Begins to count; what is told from the last count may be `more` too many.
    pub(crate) fn begin(crowds: &Arc<Crowds>, uid: u32, more: u64) -> Self {
        let again = crowds.clone();
        crowds.soon(uid, more).map_or_else(
            || Self::Begun(tokio::task::spawn_blocking(move || again.count(uid))),
            Self::Done,
        )
    }

    pub(crate) async fn end(self, crowds: &Crowds, uid: u32) -> u64 {
        match self {
            Self::Done(count) => count,
            Self::Begun(counting) => counting.await.unwrap_or_else(|_| crowds.count(uid)),
        }
    }
}

/// Numbers that are looked at one by one.
const MOST_NEW: u64 = 256;

impl Crowds {
    /// How many there are now, if that can be told from the last count: never fewer, and at most `more` too many.
    fn soon(&self, uid: u32, more: u64) -> Option<u64> {
        let crowd = (*self.last.lock().unwrap_or_else(PoisonError::into_inner))
            .filter(|crowd| crowd.uid == uid)?;
        let (came, ended) = came_since(crowd.then?, Moment::now()?, more)?;
        let count = came.end - came.start;
        // So few that it does not matter whose they are.
        if count + ended <= more {
            return Some(crowd.own + count);
        }
        Some(crowd.own + came.filter(|number| owner(*number) == Some(uid)).count() as u64)
    }

    /// Counts all of them.
    pub(crate) fn count(&self, uid: u32) -> u64 {
        let crowd = Crowd::of(uid);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(crowd);
        crowd.own
    }
}

/// The numbers that were given out between two moments, and how many processes may have ended; `None` when that are more than `most`, or the
/// numbers too many.
fn came_since(then: Moment, now: Moment, most: u64) -> Option<(Range<u64>, u64)> {
    // Numbers start again from the lowest when they are used up.
    let count = now
        .newest
        .checked_sub(then.newest)
        .filter(|count| *count <= MOST_NEW)?;
    let ended = (then.all + count).checked_sub(now.all)?;
    (ended <= most).then_some((then.newest + 1..now.newest + 1, ended))
}

impl Crowd {
    fn of(uid: u32) -> Self {
        // Before the others are read: whoever comes meanwhile may be counted twice, and is not missed.
        let then = Moment::now().filter(|_| is_own_proc());
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u64>().ok());
        let own = numbers
            .filter(|number| owner(*number) == Some(uid))
            .map(threads)
            .sum();
        Self { uid, own, then }
    }
}

impl Moment {
    fn now() -> Option<Self> {
        static LOAD: OnceLock<Result<File, i32>> = OnceLock::new();
        let mut text = [0; 128];
        let count = kept(&LOAD, || File::open("/proc/loadavg"))
            .ok()?
            .read_at(&mut text, 0)
            .ok()?;
        Self::read(std::str::from_utf8(text.get(..count)?).ok()?)
    }

    /// Three averages, how many processes run of how many, and the newest.
    fn read(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace().skip(3);
        let (_, all) = words.next()?.split_once('/')?;
        Some(Self {
            all: all.parse().ok()?,
            newest: words.next()?.parse().ok()?,
        })
    }
}

/// Who a process or a thread is; `None` when there is none of that number.
fn owner(number: u64) -> Option<u32> {
    facts(&format!("/proc/{number}")).map(|facts| facts.stx_uid)
}

/// How many threads a process has: the folder of them is linked by each.
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

/// Whether `/proc` numbers processes as this one is numbered: it may be that of the machine around a container.
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
    fn threads_that_come_are_counted_without_reading_everything_again() {
        let crowds = Crowds::default();
        assert_eq!(crowds.soon(uid(), u64::MAX), None);
        const MORE: usize = 40;
        // Others of this user's may come and go meanwhile, and then it is tried again.
        let tried = (0..50).any(|_| {
            let before = crowds.count(uid());
            let barrier = Barrier::new(MORE + 1);
            std::thread::scope(|scope| {
                (0..MORE).for_each(|_| drop(scope.spawn(|| (barrier.wait(), barrier.wait()))));
                barrier.wait();
                let (soon, counted) = (crowds.soon(uid(), MORE as u64), Crowd::of(uid()).own);
                barrier.wait();
                soon.is_some_and(|soon| soon >= before + MORE as u64 && soon.abs_diff(counted) <= 3)
            })
        });
        assert!(tried, "threads were not counted");
        assert_eq!(
            crowds.soon(uid() + 1, u64::MAX),
            None,
            "somebody else was not counted"
        );
    }

    #[test]
    fn what_cannot_be_told_is_counted_again() {
        let check = |then: (u64, u64), now: (u64, u64), most: u64, expected: Option<u64>| {
            let moment = |(all, newest)| Moment { all, newest };
            let came = came_since(moment(then), moment(now), most)
                .map(|(numbers, _)| numbers.count() as u64);
            assert_eq!(came, expected, "{then:?} {now:?}");
        };
        check((100, 5000), (100, 5000), 0, Some(0));
        check((100, 5000), (103, 5003), 0, Some(3));
        check((100, 5000), (100, 5003), 3, Some(3));
        // Too many ended.
        check((100, 5000), (100, 5003), 2, None);
        check((100, 5000), (40, 5003), 8, None);
        // Too many came.
        check((100, 5000), (400, 5300), 8, None);
        // The numbers began again.
        check((100, 5000), (103, 300), 8, None);
        // Others came that have no number here.
        check((100, 5000), (110, 5003), 8, None);
    }

    #[test]
    fn the_kernels_words_are_read_and_others_are_not() {
        assert_eq!(
            Moment::read("3.14 3.68 3.35 8/155 25590\n"),
            Some(Moment {
                all: 155,
                newest: 25590
            })
        );
        for odd in ["", "1 2 3", "1 2 3 155 7", "1 2 3 8/x 7", "1 2 3 8/9"] {
            assert_eq!(Moment::read(odd), None, "{odd}");
        }
        assert!(Moment::now().is_some());
    }
}
