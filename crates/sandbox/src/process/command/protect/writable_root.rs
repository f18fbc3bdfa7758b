//! A writable place, and what is below it, reached through its descriptor: a process that moves the
//! place, or a folder above it, moves the running command with it, and its path no longer works.

use super::path_node::PathNode;
use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use std::borrow::Borrow;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A writable place.
#[derive(Debug)]
pub(super) struct WritableRoot {
    pub(super) path: PathBuf,
    pub(super) depth: ScanDepth,
    /// The place itself, as protected names are spelled.
    pub(super) node: PathNode,
    pub(super) folder: OwnedFd,
}

/// How far a place is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanDepth {
    /// All of it.
    Whole,
    /// Only the names directly in it. Places outside the project can be as large as a machine.
    Top,
}

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// To read and watch it.
const READ: OFlags = FOLDER.union(OFlags::RDONLY);
/// To find something in it.
const FIND: OFlags = FOLDER.union(OFlags::PATH);
/// Bytes of names to open at once. The kernel allows 4096.
const MOST_AT_ONCE: usize = 2048;

impl WritableRoot {
    /// Opens a folder below, to find something in it. Follows no links, because a command may have
    /// put one where the folder was. Temporarily opens folders on the way that are closed to their
    /// owner.
    pub(super) fn find(&self, folder: &PathNode) -> io::Result<OwnedFd> {
        let names = folder.names();
        let mut at = self.folder.try_clone()?;
        let mut waiting = &names[..];
        while !waiting.is_empty() {
            let (together, count) = join(waiting);
            let opened = openat2(
                &at,
                &together,
                FIND,
                Mode::empty(),
                ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH,
            );
            at = match opened {
                Err(Errno::ACCESS) => waiting[..count]
                    .iter()
                    .try_fold(at, |at, name| pass(&at, name))?,
                opened => opened?,
            };
            waiting = &waiting[count..];
        }
        Ok(at)
    }

    /// Opens a folder below, to read and watch it; `near` is its parent, if it is open already.
    pub(super) fn read(
        &self,
        folder: &PathNode,
        near: Option<&OwnedFd>,
    ) -> io::Result<UnlockedFolder<OwnedFd>> {
        match (near, folder.above()) {
            (Some(near), _) => read(near, folder.name()),
            (None, Some(above)) => read(&self.find(above)?, folder.name()),
            (None, None) => read(&self.folder, OsStr::new(".")),
        }
    }
}

/// As many names as can be opened at once, as a path, and their number.
fn join(names: &[&OsStr]) -> (OsString, usize) {
    let mut together = OsString::new();
    for (count, name) in names.iter().enumerate() {
        if count > 0 {
            if together.len() + name.len() > MOST_AT_ONCE {
                return (together, count);
            }
            together.push("/");
        }
        together.push(name);
    }
    (together, names.len())
}

/// Enters a folder whose parent may be closed.
fn pass(at: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let open = || openat(at, name, FIND, Mode::empty());
    match open() {
        Err(Errno::ACCESS) => {
            let _opened = unlock(at)?;
            Ok(open()?)
        }
        opened => Ok(opened?),
    }
}

/// Opens a folder that may be closed, in one that may be closed.
fn read(at: &OwnedFd, name: &OsStr) -> io::Result<UnlockedFolder<OwnedFd>> {
    match openat(at, name, READ, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let folder = pass(at, name)?;
            let mut opened = unlock(&folder)?;
            let read = openat(&folder, c".", READ, Mode::empty())?;
            // It stays unlocked as long as the one that is read.
            Ok(UnlockedFolder {
                folder: read,
                modes: opened.modes.take(),
            })
        }
        opened => Ok(UnlockedFolder {
            folder: opened?,
            modes: None,
        }),
    }
}

/// Gives the owner access to a folder until the result is dropped.
pub(super) fn unlock<F: Borrow<OwnedFd>>(folder: F) -> io::Result<UnlockedFolder<F>> {
    const OWNER: u32 = 0o700;
    let facts = fstat(folder.borrow())?;
    let user = rustix::process::geteuid();
    if user.is_root() || facts.st_uid != user.as_raw() || facts.st_mode & OWNER == OWNER {
        return Ok(UnlockedFolder {
            folder,
            modes: None,
        });
    }
    let (was, is) = (facts.st_mode & 0o7777, facts.st_mode & 0o7777 | OWNER);
    fs::set_permissions(own(folder.borrow()), Permissions::from_mode(is))?;
    Ok(UnlockedFolder {
        folder,
        modes: Some((was, is)),
    })
}

/// A folder that may have been closed to its owner.
pub(super) struct UnlockedFolder<F: Borrow<OwnedFd>> {
    folder: F,
    /// The mode it had and the one it got.
    modes: Option<(u32, u32)>,
}

impl<F: Borrow<OwnedFd>> UnlockedFolder<F> {
    pub(super) fn folder(&self) -> &OwnedFd {
        self.folder.borrow()
    }

    /// Closes it again, unless its owner changed the mode meanwhile.
    fn close(&mut self) {
        let Some((was, is)) = self.modes.take() else {
            return;
        };
        if fstat(self.folder()).is_ok_and(|facts| facts.st_mode & 0o7777 == is) {
            let _ = fs::set_permissions(own(self.folder()), Permissions::from_mode(was));
        }
    }
}

impl<F: Borrow<OwnedFd>> Drop for UnlockedFolder<F> {
    fn drop(&mut self) {
        self.close();
    }
}

/// A path to an open file, whatever became of the path it was opened by.
pub(super) fn own(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A folder that stays open until its subfolders are read, so that a deep tree is not walked from
/// its top for each of them.
pub(super) struct OpenParent(UnlockedFolder<OwnedFd>);

/// How many folders may stay open like this in the whole process, which has few descriptors.
const MOST_NEAR: usize = 128;
static NEAR: AtomicUsize = AtomicUsize::new(0);

impl OpenParent {
    /// `None` when too many are open.
    pub(super) fn keep(mut folder: UnlockedFolder<OwnedFd>) -> Option<Arc<Self>> {
        folder.close();
        let near = Self(folder);
        (NEAR.fetch_add(1, Ordering::Relaxed) < MOST_NEAR).then(|| Arc::new(near))
    }

    pub(super) fn folder(&self) -> &OwnedFd {
        self.0.folder()
    }
}

impl Drop for OpenParent {
    fn drop(&mut self) {
        NEAR.fetch_sub(1, Ordering::Relaxed);
    }
}
