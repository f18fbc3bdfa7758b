//! Walking a directory tree by descriptors, without following links or crossing mounts.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, Dir, ResolveFlags, statat, unlinkat};
use rustix::io::Errno;

use super::FileKind;
use super::error::{FileError, shown};
use super::guard::WriteGuard;
use super::open::{NO_LINKS, READ_DIRECTORY, open_beneath};
use super::path::join;
use super::target::WriteTarget;

/// The most entries that removing or moving one directory may visit.
const ENTRIES: usize = 200_000;
/// The deepest nesting; each level holds a descriptor.
const DEPTH: usize = 128;
/// Follow no links, and cross no mounts.
const WITHIN: ResolveFlags = NO_LINKS.union(ResolveFlags::NO_XDEV);

/// What to do with each entry of a directory after judging it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SweepAction {
    /// Nothing more.
    Judge,
    /// Remove it.
    Remove,
}

/// Visits everything in a directory. Refuses a directory that holds a protected name anywhere, or
/// that cannot be walked.
pub(super) fn sweep(
    guard: &WriteGuard,
    place: &WriteTarget,
    act: SweepAction,
) -> Result<(), FileError> {
    walk(guard, place, place.real(), act)
}

/// Refuses a directory in which something would be closed if the directory were `there`.
pub(super) fn judge_moved(
    guard: &WriteGuard,
    place: &WriteTarget,
    there: &str,
) -> Result<(), FileError> {
    walk(guard, place, there, SweepAction::Judge)
}

fn walk(
    guard: &WriteGuard,
    place: &WriteTarget,
    real: &str,
    act: SweepAction,
) -> Result<(), FileError> {
    let given = place.given();
    let directory = open_beneath(place.directory(), place.name(), READ_DIRECTORY, WITHIN)
        .map_err(|errno| FileError::from_open(given, errno))?;
    let mut sweep = Sweep {
        guard,
        given,
        act,
        left: ENTRIES,
    };
    sweep.descend(directory, real, 1)
}

struct Sweep<'a> {
    guard: &'a WriteGuard,
    given: &'a str,
    act: SweepAction,
    left: usize,
}

impl Sweep<'_> {
    fn descend(&mut self, directory: OwnedFd, real: &str, depth: usize) -> Result<(), FileError> {
        if depth > DEPTH {
            return Err(FileError::TooMany {
                path: shown(self.given),
                max: DEPTH,
                what: "nested directories",
            });
        }
        let (directory, names) = self.names(directory)?;
        let directory = directory
            .fd()
            .map_err(|errno| FileError::from_os(real, errno))?;
        for name in names {
            let child = join(real, &name.to_string_lossy());
            self.guard.judge(&child)?;
            let failed = |errno| FileError::from_open(&child, errno);
            let stat = match statat(directory, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                done => done.map_err(failed)?,
            };
            let flags = if FileKind::of(&stat) == FileKind::Directory {
                let (directory, name) = (directory.as_fd(), name.as_c_str());
                let opened = open_beneath(directory, name, READ_DIRECTORY, WITHIN);
                self.descend(opened.map_err(failed)?, &child, depth + 1)?;
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            if self.act == SweepAction::Remove {
                match unlinkat(directory, name.as_c_str(), flags) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    Err(errno) => return Err(FileError::from_os(&child, errno)),
                }
            }
        }
        Ok(())
    }

    /// All names of one directory, read before anything in it changes.
    fn names(&mut self, directory: OwnedFd) -> Result<(Dir, Vec<CString>), FileError> {
        let failed = |errno| FileError::from_os(self.given, errno);
        let mut directory = Dir::new(directory).map_err(failed)?;
        let mut names = Vec::new();
        while let Some(entry) = directory.read() {
            let entry = entry.map_err(failed)?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            self.left = self.left.checked_sub(1).ok_or_else(|| FileError::TooMany {
                path: shown(self.given),
                max: ENTRIES,
                what: "entries",
            })?;
            names.push(entry.file_name().to_owned());
        }
        Ok((directory, names))
    }
}
