//! What calls leave on the machine while they run, folders and cgroups, and removing it before the
//! program ends.

use super::scratch;
use crate::lock::lock;
use crate::process::child::{ChildProcess, null};
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

static LEFTOVERS: Mutex<Leftovers> = Mutex::new(Leftovers {
    is_last_call: false,
    next: 0,
    left: BTreeMap::new(),
});
static FEWER: Condvar = Condvar::new();

struct Leftovers {
    is_last_call: bool,
    next: u64,
    left: BTreeMap<u64, Option<LeftoverFolder>>,
}

/// A folder, and the claim to it.
#[derive(Clone, Debug)]
pub(crate) struct LeftoverFolder {
    pub(crate) path: PathBuf,
    pub(crate) claimed: Arc<File>,
}

/// Exists as long as the thing it stands for.
#[derive(Debug)]
pub(crate) struct Leftover(u64);

impl Leftover {
    /// A folder is handed to another process if time runs out; anything else is removed
    /// immediately.
    pub(crate) fn of(folder: Option<LeftoverFolder>) -> Self {
        let mut leftovers = leftovers();
        leftovers.next += 1;
        let number = leftovers.next;
        leftovers.left.insert(number, folder);
        Self(number)
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        leftovers().left.remove(&self.0);
        FEWER.notify_all();
    }
}

fn leftovers() -> MutexGuard<'static, Leftovers> {
    lock(&LEFTOVERS)
}

/// Announces that the next call is the program's last: no container is made ahead after it.
pub fn announce_last_call() {
    leftovers().is_last_call = true;
}

/// Whether the last call was announced.
pub(crate) fn is_last_call() -> bool {
    leftovers().is_last_call
}

/// For a program that is about to exit: waits until its calls have left nothing, but at most this
/// long. Another process removes the folders that take longer.
pub fn wait_for_cleanup(most: Duration) {
    let mut leftovers = leftovers();
    leftovers.is_last_call = true;
    let (leftovers, _) = FEWER
        .wait_timeout_while(leftovers, most, |leftovers| !leftovers.left.is_empty())
        .unwrap_or_else(PoisonError::into_inner);
    for folder in leftovers.left.values().flatten() {
        // If it cannot be started, the next harness removes the folder.
        let _ = spawn_remover(folder);
    }
}

/// Starts a process that removes a folder, and holds the claim to it until it is done.
pub(crate) fn spawn_remover(
    LeftoverFolder { path, claimed }: &LeftoverFolder,
) -> io::Result<ChildProcess> {
    let (null, path) = (null()?.as_fd(), CString::new(path.as_os_str().as_bytes())?);
    let start = |program| {
        ChildProcess::new(
            program,
            &[c"rm", c"-rf", c"--", &path],
            &[null, null, null, claimed.as_fd()],
        )
    };
    start(c"/bin/rm").or_else(|_| start(c"/usr/bin/rm"))
}

/// Removes the leftovers of a killed harness in the background: no call waits for it.
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

/// Removes an abandoned folder in a process of its own, which continues if this one ends.
pub(crate) fn remove(folder: &LeftoverFolder) {
    let Ok(remover) = spawn_remover(folder) else {
        let _ = std::fs::remove_dir_all(Path::new(&folder.path));
        return;
    };
    while remover.collect().is_none() {
        remover.wait(Duration::MAX);
    }
}
