//! What calls leave on the machine while they run, folders and control groups, and seeing to it that it is gone when the program ends.

use super::scratch;
use crate::process::child::{Started, null};
use crate::process::command::limits::cgroup::Cgroups;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

static TRACES: Mutex<Traces> = Mutex::new(Traces {
    is_last: false,
    next: 0,
    left: BTreeMap::new(),
});
static FEWER: Condvar = Condvar::new();

struct Traces {
    is_last: bool,
    next: u64,
    left: BTreeMap<u64, Option<Folder>>,
}

/// A folder, and the claim to it.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) claimed: Arc<File>,
}

/// Something exists for as long as this does.
#[derive(Debug)]
pub(crate) struct Trace(u64);

impl Trace {
    /// A folder is removed by somebody else where there is no time; what is none is removed in no time.
    pub(crate) fn of(folder: Option<Folder>) -> Self {
        let mut traces = traces();
        traces.next += 1;
        let number = traces.next;
        traces.left.insert(number, folder);
        Self(number)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        traces().left.remove(&self.0);
        FEWER.notify_all();
    }
}

fn traces() -> MutexGuard<'static, Traces> {
    TRACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that the call that comes now is the program's last: nothing is made ahead for another.
pub fn last_call() {
    traces().is_last = true;
}

/// Whether somebody said so.
pub(crate) fn is_last() -> bool {
    traces().is_last
}

/// For a program that is about to end: waits until nothing is left of its calls, but not longer than this. Folders that hold so much that it takes
/// longer are handed to a process that removes them when this one is gone.
pub fn settle(most: Duration) {
    let mut traces = traces();
    traces.is_last = true;
    let (traces, _) = FEWER
        .wait_timeout_while(traces, most, |traces| !traces.left.is_empty())
        .unwrap_or_else(PoisonError::into_inner);
    for folder in traces.left.values().flatten() {
        // Where nobody can be started it is the next harness that removes it.
        let _ = hand_over(folder);
    }
}

/// Starts a process that removes a folder, and has the claim to it until it is done.
pub(crate) fn hand_over(Folder { path, claimed }: &Folder) -> io::Result<Started> {
    let (null, path) = (null()?.as_fd(), CString::new(path.as_os_str().as_bytes())?);
    let start = |program| {
        Started::new(
            program,
            &[c"rm", c"-rf", c"--", &path],
            &[null, null, null, claimed.as_fd()],
        )
    };
    start(c"/bin/rm").or_else(|_| start(c"/usr/bin/rm"))
}

/// Removes what a harness left that was killed, beside whatever this one does: however much that is, no call waits for it.
pub(crate) fn remove_stale(cgroups: &Cgroups) {
    static IS_BUSY: AtomicBool = AtomicBool::new(false);
    if IS_BUSY.swap(true, Ordering::Relaxed) {
        return;
    }
    let places = cgroups.places();
    let remove = move || {
        places
            .iter()
            .for_each(|place| crate::process::command::limits::cgroup::remove_stale(place));
        scratch::remove_stale();
        IS_BUSY.store(false, Ordering::Relaxed);
    };
    if thread::Builder::new()
        .name("tidy".into())
        .spawn(remove)
        .is_err()
    {
        IS_BUSY.store(false, Ordering::Relaxed);
    }
}

/// Removes a folder that somebody left, by a process of its own, so that it goes on when this one ends.
pub(crate) fn remove(folder: &Folder) {
    let Ok(remover) = hand_over(folder) else {
        let _ = std::fs::remove_dir_all(Path::new(&folder.path));
        return;
    };
    while remover.collect().is_none() {
        remover.wait(Duration::MAX);
    }
}
