//! What a tool may change: a name in an opened directory, judged by the real path of that
//! directory.

use std::fs::File;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, mkdirat, statat};
use rustix::io::Errno;

use super::error::{FileError, shown};
use super::guard::WriteGuard;
use super::open::{BENEATH, NAME_DIRECTORY, NO_LINKS, READ, open_beneath, regular_file};
use super::path::{RelativePath, join};
use super::{FileKind, Jail};

/// What to do about missing parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parents {
    /// Make them.
    Create,
    /// Fail if one is missing.
    Require,
}

/// A name in an opened directory that a tool may change. Only [`Jail::target`] makes one, after
/// judging it.
#[derive(Debug)]
pub(super) struct WriteTarget {
    directory: OwnedFd,
    name: String,
    /// The real path, relative to the workspace.
    real: String,
    /// As given, for messages.
    given: String,
}

impl Jail {
    /// Judges `given` as written and by its real path, and opens the directory it is in.
    pub(super) fn target(
        &self,
        guard: &WriteGuard,
        given: &str,
        parents: Parents,
    ) -> Result<WriteTarget, FileError> {
        let inside = self.parse(given)?;
        let Some((directory, name)) = inside.split() else {
            return Err(FileError::Root(shown(given)));
        };
        guard.judge(inside.as_str())?;
        let directory = match parents {
            Parents::Create => self.make_directories(guard, directory, given)?,
            Parents::Require => open_beneath(self.root.as_fd(), directory, NAME_DIRECTORY, BENEATH)
                .map_err(|errno| FileError::from_open(given, errno))?,
        };
        let real = join(&self.real_of(directory.as_fd(), given)?, name);
        guard.judge(&real)?;
        self.judge_change(inside.as_str(), &real, given)?;
        Ok(WriteTarget {
            directory,
            name: name.into(),
            real,
            given: given.into(),
        })
    }

    /// Creates a directory and its parents; succeeds if it exists.
    pub fn mkdir(&self, path: &str) -> Result<(), FileError> {
        let guard = self.guard()?;
        let inside: RelativePath = self.parse(path)?;
        guard.judge(inside.as_str())?;
        let made = self.make_directories(&guard, inside.as_str(), path)?;
        let real = self.real_of(made.as_fd(), path)?;
        guard.judge(&real)?;
        self.judge_change(inside.as_str(), &real, path)
    }

    /// Opens a directory and creates missing components one at a time, each in an opened directory
    /// whose real path was judged.
    fn make_directories(
        &self,
        guard: &WriteGuard,
        directory: &str,
        given: &str,
    ) -> Result<OwnedFd, FileError> {
        let open = |path: &str| open_beneath(self.root.as_fd(), path, NAME_DIRECTORY, BENEATH);
        let failed = |errno| FileError::from_open(given, errno);
        match open(directory) {
            Err(Errno::NOENT) => {}
            done => return done.map_err(failed),
        }
        let mut current = open(".").map_err(failed)?;
        let mut path = String::from(".");
        for name in directory.split('/') {
            path = join(&path, name);
            current = match open(&path) {
                Err(Errno::NOENT) => {
                    let real = join(&self.real_of(current.as_fd(), given)?, name);
                    guard.judge(&real)?;
                    self.judge_change(&path, &real, given)?;
                    match mkdirat(&current, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(FileError::from_os(given, errno)),
                    }
                    // Opened from the root again, because another process may have made a link of
                    // that name.
                    open(&path)
                }
                done => done,
            }
            .map_err(failed)?;
        }
        Ok(current)
    }

    /// The metadata of what a write would replace: `None`, or a regular file with one link that
    /// this user may write.
    pub(super) fn replaceable(
        &self,
        place: &WriteTarget,
    ) -> Result<Option<rustix::fs::Stat>, FileError> {
        let Some(stat) = place.stat()? else {
            return Ok(None);
        };
        let given = shown(&place.given);
        match FileKind::of(&stat) {
            FileKind::File if stat.st_nlink > 1 => Err(FileError::HardLinked(given)),
            FileKind::File => {
                // Replacing asks only the directory for permission; a read-only file should stay as
                // it is.
                accessat(
                    &place.directory,
                    place.name.as_str(),
                    Access::WRITE_OK,
                    AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW,
                )
                .or_else(|errno| match errno {
                    Errno::NOENT => Ok(()),
                    _ => Err(place.failed(errno)),
                })?;
                Ok(Some(stat))
            }
            FileKind::Directory => Err(FileError::IsDirectory(given)),
            FileKind::Other => Err(FileError::NotRegular(given)),
            // Never followed; where it leads only decides the message.
            FileKind::Link => {
                match open_beneath(self.root.as_fd(), place.real(), OFlags::PATH, BENEATH) {
                    Err(Errno::XDEV) => Err(FileError::Outside(given)),
                    _ => Err(FileError::Link(given)),
                }
            }
        }
    }
}

impl WriteTarget {
    pub(super) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn real(&self) -> &str {
        &self.real
    }

    pub(super) fn given(&self) -> &str {
        &self.given
    }

    /// The metadata of what exists there; does not follow links.
    pub(super) fn stat(&self) -> Result<Option<rustix::fs::Stat>, FileError> {
        match statat(&self.directory, self.name(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.failed(errno)),
        }
    }

    /// Opens the regular file that exists there for reading, if any.
    pub(super) fn open_file(&self) -> Result<Option<File>, FileError> {
        let flags = READ | OFlags::NOFOLLOW;
        let opened = match open_beneath(self.directory(), self.name(), flags, NO_LINKS) {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(FileError::Link(shown(&self.given))),
            done => done.map_err(|errno| FileError::from_open(&self.given, errno))?,
        };
        regular_file(opened, &self.given).map(|(file, _)| Some(file))
    }

    pub(super) fn failed(&self, errno: Errno) -> FileError {
        FileError::from_os(&self.given, errno)
    }
}
