//! The file jail: the kernel resolves every path beneath one opened directory, and one descriptor
//! goes from check to use.
//!
//! What it relies on:
//! 1. The jail opens a given path only through `open`, which never leaves the root descriptor.
//! 2. It changes nothing except through a `target::WriteTarget`: an opened directory whose real
//!    path was judged, and a name in it.
//! 3. Rules that judged a path before a call began judge the real path of what was opened again.
//! 4. It asks an opened descriptor for the kind of a file, never a path that is opened later.

mod bound;
mod change;
mod error;
mod first;
mod guard;
mod ignored;
mod inspect;
mod judged;
mod open;
mod path;
mod pattern;
mod private;
mod protected;
mod target;
mod tree;
mod walk;
mod write;

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

pub use bound::PathBounds;
pub use error::FileError;
pub use first::FirstResults;
pub use guard::WriteGuard;
use judged::JudgedPaths;
pub use judged::{JudgedPath, Opened};
pub use open::open_nonblocking;
use private::PrivatePlaces;
pub(crate) use protected::{GIT_FOLDER, is_git_folder, protected_pairs};
pub use protected::{
    ROOT_FILES, ROOT_FOLDER, glob_matches_protected, is_folder_of_protected, is_protected,
    is_protected_name, protected_everywhere,
};
pub use walk::{Omit, Visitor, WalkEnd, WalkedFile};

/// A folder that paths cannot leave.
#[derive(Debug)]
pub struct Jail {
    /// Opened once; every path is resolved from here.
    root: OwnedFd,
    /// Its path without links when it was opened; only used to read absolute paths.
    path: PathBuf,
    /// What of it may be used.
    bounds: Arc<PathBounds>,
    /// What of it belongs to a person.
    private: Arc<PrivatePlaces>,
    /// Paths that rules judged already.
    judged: JudgedPaths,
}

impl Jail {
    /// The workspace's path without links, as absolute paths have to spell it.
    pub fn root(&self) -> &Path {
        &self.path
    }

    /// The same folder with these bounds instead of its own.
    pub fn with_bounds(&self, bounds: PathBounds) -> Result<Self, FileError> {
        let root = self
            .root
            .try_clone()
            .map_err(|error| FileError::from_io(".", error))?;
        Ok(Self {
            root,
            path: self.path.clone(),
            bounds: Arc::new(bounds),
            private: Arc::clone(&self.private),
            judged: self.judged.clone(),
        })
    }

    /// The same folder, where whatever is opened under the names of these paths is judged again, by
    /// its real path.
    #[must_use]
    pub fn judging(mut self, paths: &[JudgedPath]) -> Self {
        self.judged = JudgedPaths::of(&self.path, paths);
        self
    }

    /// The same folder for a person: with this home, which the machine's list of users may not have,
    /// and with another folder that no tool sees, where the harness keeps what belongs to it.
    #[must_use]
    pub fn for_person(mut self, home: Option<&Path>, state: Option<&Path>) -> Self {
        self.private = Arc::new(PrivatePlaces::new(&self.path, home, state));
        self
    }
}

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link (only in listings: opening one follows it inside the jail).
    Link,
    /// Anything else: never opened.
    Other,
}

/// Metadata of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Modification time, milliseconds since 1970.
    pub modified_ms: i64,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name; bytes that are not UTF-8 show as `�`, and such an entry cannot be opened.
    pub name: String,
    /// Its metadata.
    pub stat: Stat,
}

impl FileKind {
    fn of(stat: &rustix::fs::Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

impl Stat {
    fn of(stat: &rustix::fs::Stat) -> Self {
        // Nanoseconds are below a thousand million; their type differs between platforms.
        let millis = i64::try_from(stat.st_mtime_nsec).unwrap_or(0) / 1_000_000;
        Self {
            kind: FileKind::of(stat),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified_ms: stat.st_mtime.saturating_mul(1000).saturating_add(millis),
        }
    }
}
