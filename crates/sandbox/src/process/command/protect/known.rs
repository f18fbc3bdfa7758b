//! One protected name that exists.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, open, statat};
use rustix::io::Errno;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What a protected name was when the command started.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// Held open, so that its number is not given to another file and its content can be put back. Not for every one of very many.
    pub(super) held: Option<OwnedFd>,
    number: (u64, u64),
    /// Whether something else was found in its place.
    pub(super) was_replaced: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// A link, which nothing can be mounted over, and where it leads.
    Link(PathBuf),
}

/// What is in the place of a protected name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    Same,
    Gone,
    Other,
}

impl Known {
    /// What is at a path now; `None` when there is nothing.
    pub(super) fn at(path: &Path, hold: bool) -> Option<Self> {
        let opened = if hold { open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok() } else { None };
        let facts = match &opened {
            Some(file) => fstat(file),
            None => statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW),
        };
        let facts = facts.ok()?;
        let kind = match facts.st_mode & libc::S_IFMT {
            libc::S_IFLNK => Kind::Link(fs::read_link(path).ok()?),
            libc::S_IFDIR => Kind::Folder,
            _ => Kind::File,
        };
        Some(Self { path: path.to_path_buf(), kind, held: opened, number: (facts.st_dev, facts.st_ino), was_replaced: false })
    }

    pub(super) fn now(&self) -> Now {
        match statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) if (facts.st_dev, facts.st_ino) == self.number => Now::Same,
            Err(Errno::NOENT | Errno::NOTDIR) => Now::Gone,
            // Whoever closed the folder above it may have replaced it, too.
            _ => Now::Other,
        }
    }
}
