//! One protected file that exists.

use super::path_node::PathNode;
use super::writable_root::WritableRoot;
use crate::lock::lock;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

/// A protected file, as it was when the command started.
#[derive(Debug)]
pub(super) struct ProtectedFile {
    pub(super) node: PathNode,
    /// Its path at that time.
    pub(super) path: PathBuf,
    pub(super) was: Arc<Original>,
    /// Whether something else was found in its place.
    pub(super) was_replaced: bool,
}

#[derive(Debug)]
pub(super) struct Original {
    pub(super) kind: OriginalKind,
    number: (u64, u64),
    /// Kept open, so that its inode number is not reused, and to find it after a move. Not for very
    /// many.
    pub(super) held: Option<OwnedFd>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum OriginalKind {
    /// A file, its text if that is kept, and its mode, user and group. The file itself may have
    /// changed by the time it is put back: it loses its mount before it loses its name.
    File(Option<Vec<u8>>, (u32, u32, u32)),
    /// A folder, or something else that is moved rather than copied.
    Folder,
    /// A link, which cannot be mounted over, and its target.
    Link(PathBuf),
}

/// What is at a protected path now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Current {
    Same,
    Gone,
    Other,
}

/// A larger file is protected, but not put back.
pub(super) const MOST_KEPT: u64 = 1 << 20;

/// The originals of running commands, by folder and name. A command that starts while another one's
/// file is about to be put back must not take what it finds for the original.
static RUNNING: Mutex<Option<HashMap<FileKey, Weak<Original>>>> = Mutex::new(None);
type FileKey = ((u64, u64), OsString);

/// Whether to keep a file open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeepOpen {
    /// To find it after a move.
    Yes,
    /// There are too many.
    No,
}

impl ProtectedFile {
    /// The protected file at a node; `None` if the node does not exist.
    pub(super) fn at(roots: &[WritableRoot], node: PathNode, hold: KeepOpen) -> Option<Self> {
        let root = roots.get(node.root())?;
        let path = node.path(&root.path);
        let folder = node
            .above()
            .map(|above| root.find(above))
            .transpose()
            .ok()?;
        // A place has no open folder above it.
        let (folder, name) = folder.as_ref().map_or((CWD, path.as_os_str()), |folder| {
            (folder.as_fd(), node.name())
        });
        let (was, is_known) = match hold {
            KeepOpen::Yes => Original::running(folder, name)?,
            KeepOpen::No => (Arc::new(Original::at(folder, name, None)?), false),
        };
        let mut existing = Self {
            node,
            path,
            was,
            was_replaced: false,
        };
        existing.was_replaced = is_known && existing.now(roots) == Current::Other;
        Some(existing)
    }

    pub(super) fn now(&self, roots: &[WritableRoot]) -> Current {
        let facts = match (self.node.above(), roots.get(self.node.root())) {
            (Some(above), Some(root)) => root.find(above).and_then(|folder| {
                Ok(statat(folder, self.node.name(), AtFlags::SYMLINK_NOFOLLOW)?)
            }),
            _ => statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from),
        };
        match facts.map_err(|cause| Errno::from_io_error(&cause)) {
            Ok(facts) if (facts.st_dev, facts.st_ino) == self.was.number => Current::Same,
            Err(Some(Errno::NOENT | Errno::NOTDIR)) => Current::Gone,
            // A process that closed the folder above it may also have replaced it.
            _ => Current::Other,
        }
    }

    /// Checks whether it is still the same.
    pub(super) fn check(&mut self, roots: &[WritableRoot], is_by_file: bool) {
        let is_link = matches!(self.was.kind, OriginalKind::Link(_));
        self.was_replaced |= match self.now(roots) {
            Current::Same => false,
            // The command can remove a link; only a process outside, which may, can remove anything
            // else.
            Current::Gone => is_link,
            Current::Other => is_link || !is_by_file,
        };
    }
}

impl Original {
    /// The file at a name, kept open. If a running command already knows an original there, returns
    /// that one, and `true`.
    fn running(folder: BorrowedFd<'_>, name: &OsStr) -> Option<(Arc<Self>, bool)> {
        let facts = statat(folder, c".", AtFlags::empty()).ok()?;
        let id = ((facts.st_dev, facts.st_ino), name.to_owned());
        let mut running = lock(&RUNNING);
        let running = running.get_or_insert_default();
        if let Some(was) = running.get(&id).and_then(Weak::upgrade) {
            return Some((was, true));
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = openat(folder, name, flags, Mode::empty()).ok();
        let was = Arc::new(Self::at(folder, name, held)?);
        running.retain(|_, was| was.strong_count() > 0);
        running.insert(id, Arc::downgrade(&was));
        Some((was, false))
    }

    fn at(folder: BorrowedFd<'_>, name: &OsStr, held: Option<OwnedFd>) -> Option<Self> {
        let facts = match &held {
            Some(held) => fstat(held),
            None => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW),
        };
        let facts = facts.ok()?;
        let kind = match facts.st_mode & libc::S_IFMT {
            libc::S_IFLNK => OriginalKind::Link(
                OsString::from_vec(readlinkat(folder, name, Vec::new()).ok()?.into_bytes()).into(),
            ),
            libc::S_IFREG => {
                let text = held.as_ref().and_then(|_| text(folder, name, &facts));
                OriginalKind::File(text, (facts.st_mode & 0o7777, facts.st_uid, facts.st_gid))
            }
            _ => OriginalKind::Folder,
        };
        Some(Self {
            kind,
            number: (facts.st_dev, facts.st_ino),
            held,
        })
    }
}

/// The text of a file, if it is still the same file.
fn text(folder: BorrowedFd<'_>, name: &OsStr, facts: &Stat) -> Option<Vec<u8>> {
    if u64::try_from(facts.st_size).ok()? > MOST_KEPT {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(folder, name, flags, Mode::empty()).ok()?);
    let opened = fstat(&file).ok()?;
    let mut text = Vec::with_capacity(usize::try_from(facts.st_size).ok()? + 1);
    file.take(MOST_KEPT + 1).read_to_end(&mut text).ok()?;
    let is_it = (opened.st_dev, opened.st_ino) == (facts.st_dev, facts.st_ino);
    (is_it && text.len() as u64 <= MOST_KEPT).then_some(text)
}
