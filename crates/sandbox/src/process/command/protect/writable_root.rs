//! A place that may be written, and what is below it, reached by its descriptor: whoever moves the place, or a folder above it, while a
//! command runs takes the command along, and no path leads there any more.

use super::path_node::Spot;
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

/// A place that may be written.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: PathBuf,
    pub(super) depth: Depth,
    /// Itself, as protected names are spelled.
    pub(super) spot: Spot,
    pub(super) folder: OwnedFd,
}

/// How far a place is looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// All of it.
    Whole,
    /// The names directly in it. What is not of the project can be as large as a machine.
    Top,
}

const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
/// To be read and watched.
const READ: OFlags = FOLDER.union(OFlags::RDONLY);
/// To find something in.
const FIND: OFlags = FOLDER.union(OFlags::PATH);
/// Bytes of names that are opened at once. The kernel takes 4096.
const MOST_AT_ONCE: usize = 2048;

impl Root {
    /// Opens a folder below, to find something in it. No link is followed, because a command may put one where the folder was. A folder on
    /// the way that is closed to its owner is opened up for as long as it takes to pass.
    pub(super) fn find(&self, folder: &Spot) -> io::Result<OwnedFd> {
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

    /// Opens a folder below, to read and watch it; `near` is the folder above it, where somebody has that open.
    pub(super) fn read(
        &self,
        folder: &Spot,
        near: Option<&OwnedFd>,
    ) -> io::Result<OpenedUp<OwnedFd>> {
        match (near, folder.above()) {
            (Some(near), _) => read(near, folder.name()),
            (None, Some(above)) => read(&self.find(above)?, folder.name()),
            (None, None) => read(&self.folder, OsStr::new(".")),
        }
    }
}

/// As many names as can be opened at once, as a path, and how many these are.
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

/// Goes into a folder whose folder may be closed.
fn pass(at: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let open = || openat(at, name, FIND, Mode::empty());
    match open() {
        Err(Errno::ACCESS) => {
            let _opened = open_up(at)?;
            Ok(open()?)
        }
        opened => Ok(opened?),
    }
}

/// Opens a folder that may be closed, in one that may be closed.
fn read(at: &OwnedFd, name: &OsStr) -> io::Result<OpenedUp<OwnedFd>> {
    match openat(at, name, READ, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let folder = pass(at, name)?;
            let mut opened = open_up(&folder)?;
            let read = openat(&folder, c".", READ, Mode::empty())?;
            // It stays open as long as the one that is read.
            Ok(OpenedUp {
                folder: read,
                modes: opened.modes.take(),
            })
        }
        opened => Ok(OpenedUp {
            folder: opened?,
            modes: None,
        }),
    }
}

/// Opens a folder up for its owner, for as long as the answer lives.
pub(super) fn open_up<F: Borrow<OwnedFd>>(folder: F) -> io::Result<OpenedUp<F>> {
    const OWNER: u32 = 0o700;
    let facts = fstat(folder.borrow())?;
    let user = rustix::process::geteuid();
    if user.is_root() || facts.st_uid != user.as_raw() || facts.st_mode & OWNER == OWNER {
        return Ok(OpenedUp {
            folder,
            modes: None,
        });
    }
    let (was, is) = (facts.st_mode & 0o7777, facts.st_mode & 0o7777 | OWNER);
    fs::set_permissions(own(folder.borrow()), Permissions::from_mode(is))?;
    Ok(OpenedUp {
        folder,
        modes: Some((was, is)),
    })
}

/// A folder that may have been closed to its owner.
pub(super) struct OpenedUp<F: Borrow<OwnedFd>> {
    folder: F,
    /// The mode it had and the one it got.
    modes: Option<(u32, u32)>,
}

impl<F: Borrow<OwnedFd>> OpenedUp<F> {
    pub(super) fn folder(&self) -> &OwnedFd {
        self.folder.borrow()
    }

    /// What was closed to its owner is so again, unless he changed it meanwhile.
    fn close(&mut self) {
        let Some((was, is)) = self.modes.take() else {
            return;
        };
        if fstat(self.folder()).is_ok_and(|facts| facts.st_mode & 0o7777 == is) {
            let _ = fs::set_permissions(own(self.folder()), Permissions::from_mode(was));
        }
    }
}

impl<F: Borrow<OwnedFd>> Drop for OpenedUp<F> {
    fn drop(&mut self) {
        self.close();
    }
}

/// The path by which a descriptor can be opened, watched or changed, whatever became of the path it was opened by.
pub(super) fn own(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A folder that stays open until those in it are read, so that a deep tree is not walked from its top for each of its folders.
pub(super) struct Near(OpenedUp<OwnedFd>);

/// Folders that stay open so in the whole process, which has few descriptors.
const MOST_NEAR: usize = 128;
static NEAR: AtomicUsize = AtomicUsize::new(0);

impl Near {
    /// `None` when too many are open.
    pub(super) fn keep(mut folder: OpenedUp<OwnedFd>) -> Option<Arc<Self>> {
        folder.close();
        let near = Self(folder);
        (NEAR.fetch_add(1, Ordering::Relaxed) < MOST_NEAR).then(|| Arc::new(near))
    }

    pub(super) fn folder(&self) -> &OwnedFd {
        self.0.folder()
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        NEAR.fetch_sub(1, Ordering::Relaxed);
    }
}
