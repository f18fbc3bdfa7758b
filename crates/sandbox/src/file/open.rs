//! Opening beneath the root, and finding the real path of an opened directory.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, fstat, open, openat2, readlinkat, statat,
};
use rustix::io::Errno;

use super::error::{FileError, shown};
use super::guard::WriteGuard;
use super::judged::JudgedPaths;
use super::path::{RelativePath, join};
use super::private::PrivatePlaces;
use super::protected::{GIT_FOLDER, is_protected, protected_paths};
use super::{FileKind, Jail};

/// How often to retry an open that raced with a rename.
const TRIES: usize = 128;

/// Stay below the starting descriptor and never follow the kernel's own links such as
/// `/proc/self/root`.
pub(super) const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
/// The same, and no links at all.
pub(super) const NO_LINKS: ResolveFlags = BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// For reading any file: a pipe does not block, a terminal does not become ours.
pub(super) const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// For reading the entries of a directory.
pub(super) const READ_DIRECTORY: OFlags = READ.union(OFlags::DIRECTORY);
/// For referring to a directory without reading it.
pub(super) const NAME_DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

/// Opens a file anywhere for the harness itself; does not block on a pipe.
pub fn open_nonblocking(path: &Path) -> std::io::Result<File> {
    Ok(open(path, READ | OFlags::CLOEXEC, Mode::empty())?.into())
}

/// Opens `path` from `directory` under the given limits. This crate opens given paths in no other
/// way.
pub(super) fn open_beneath(
    directory: BorrowedFd<'_>,
    path: impl rustix::path::Arg + Copy,
    flags: OFlags,
    limits: ResolveFlags,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    for _ in 0..TRIES {
        match openat2(directory, path, flags, Mode::empty(), limits) {
            // The kernel could not tell whether a rename led outside, and asks for another try.
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            done => return done,
        }
    }
    Err(Errno::AGAIN)
}

impl Jail {
    /// Opens the jail at `root`.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        let name = root.to_string_lossy();
        let root = open(root, NAME_DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| FileError::from_os(&name, errno))?;
        // Refuse now if the system cannot keep paths inside, not at the first call.
        open_beneath(root.as_fd(), ".", NAME_DIRECTORY, BENEATH).map_err(|errno| match errno {
            // Older container runtimes answer unknown calls with `EPERM`.
            Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG => FileError::Unavailable(
                "`openat2` does not work here; Linux 5.6 or newer is needed, and a container must allow the call".into(),
            ),
            other => FileError::from_open(&name, other),
        })?;
        let path = path_of_descriptor(root.as_fd())?;
        Ok(Self {
            root,
            private: Arc::new(PrivatePlaces::new(&path, None, None)),
            path,
            bounds: Arc::default(),
            judged: JudgedPaths::default(),
        })
    }

    /// The bytes of a regular file, refused when there are more than `max`.
    pub fn read(&self, path: &str, max: u64) -> Result<Vec<u8>, FileError> {
        let (file, stat) = self.open_file(path)?;
        let too_large = || FileError::TooLarge {
            path: shown(path),
            max,
        };
        if u64::try_from(stat.st_size).is_ok_and(|size| size > max) {
            return Err(too_large());
        }
        // The size is out of date: the file may grow, or the system may make it up while it is
        // read.
        let mut bytes = Vec::new();
        file.take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| FileError::from_io(path, error))?;
        if bytes.len() as u64 > max {
            Err(too_large())
        } else {
            Ok(bytes)
        }
    }

    /// The workspace-relative path without links that `path` leads to, `.` for the workspace: what
    /// rules about names should see. If the path does not exist yet, follows the directory it would
    /// be in and keeps the rest as given.
    pub fn real(&self, path: &str) -> Result<String, FileError> {
        let inside = self.parse(path)?;
        let mut there = inside.as_str();
        let mut rest: Vec<&str> = Vec::new();
        loop {
            match open_beneath(self.root.as_fd(), there, OFlags::PATH, BENEATH) {
                Ok(opened) => {
                    let real = self.real_of(opened.as_fd(), path)?;
                    return Ok(rest
                        .iter()
                        .rev()
                        .fold(real, |directory, name| join(&directory, name)));
                }
                Err(Errno::NOENT) if there != "." => {
                    let (directory, name) = there.rsplit_once('/').unwrap_or((".", there));
                    rest.push(name);
                    there = directory;
                }
                Err(errno) => return Err(FileError::from_open(path, errno)),
            }
        }
    }

    pub(super) fn parse(&self, given: &str) -> Result<RelativePath, FileError> {
        RelativePath::parse(&self.path, given)
    }

    /// Opens a regular file for reading, if the bounds allow it, and returns its metadata.
    pub(super) fn open_file(&self, given: &str) -> Result<(File, rustix::fs::Stat), FileError> {
        let (file, stat) = self.open_regular(given)?;
        if !self.is_open() {
            let real = self.real_of(file.as_fd(), given)?;
            self.judge_read(&real, given)?;
            self.judge_opened(self.parse(given)?.as_str(), &real, given)?;
        }
        Ok((file, stat))
    }

    fn open_regular(&self, given: &str) -> Result<(File, rustix::fs::Stat), FileError> {
        let inside = self.parse(given)?;
        let opened = open_beneath(self.root.as_fd(), inside.as_str(), READ, BENEATH)
            .map_err(|errno| FileError::from_open(given, errno))?;
        regular_file(opened, given)
    }

    /// The real path of an opened descriptor, relative to the workspace. Fails if it cannot be
    /// found out.
    pub(super) fn real_of(&self, opened: BorrowedFd<'_>, given: &str) -> Result<String, FileError> {
        // Asks for the root's path, too, so that a workspace that was moved meanwhile still works.
        let root = path_of_descriptor(self.root.as_fd())?;
        let here = path_of_descriptor(opened)?;
        let relative = here
            .strip_prefix(&root)
            .map_err(|_| FileError::Outside(shown(given)))?;
        let text = relative.to_string_lossy();
        Ok(if text.is_empty() {
            ".".into()
        } else {
            text.into_owned()
        })
    }

    /// The protected names as of now, including the places that links at the top of the workspace
    /// give them.
    pub fn guard(&self) -> Result<WriteGuard, FileError> {
        let mut aliases = Vec::new();
        for name in protected_paths().filter(|name| self.may_lie_elsewhere(name)) {
            match open_beneath(self.root.as_fd(), name.as_str(), OFlags::PATH, BENEATH) {
                Ok(opened) => aliases.push(self.real_of(opened.as_fd(), &name)?),
                // Missing, outside, or unreachable for this user: no place here that could be
                // written.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP | Errno::ACCESS) => {}
                Err(errno) => return Err(FileError::from_open(&name, errno)),
            }
        }
        aliases.extend(self.git_directory_elsewhere());
        // Most are where their names say. A link to the workspace itself would protect everything.
        aliases.retain(|alias| alias != "." && !is_protected(alias));
        Ok(WriteGuard {
            aliases,
            bounds: Arc::clone(&self.bounds),
            private: Arc::clone(&self.private),
        })
    }

    /// Whether a component of a name at the top of the workspace is a link. Checking costs far less
    /// than opening, and nearly always finds none.
    fn may_lie_elsewhere(&self, name: &str) -> bool {
        let ends = name
            .match_indices('/')
            .map(|(end, _)| end)
            .chain([name.len()]);
        for end in ends {
            match statat(&self.root, &name[..end], AtFlags::SYMLINK_NOFOLLOW)
                .map(|stat| FileKind::of(&stat))
            {
                Ok(FileKind::Link) => return true,
                Ok(_) => {}
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return false,
                Err(_) => return true,
            }
        }
        false
    }

    /// The directory that a `.git` file names, if it is in the workspace.
    fn git_directory_elsewhere(&self) -> Option<String> {
        let stat = statat(&self.root, GIT_FOLDER, AtFlags::empty()).ok()?;
        if FileKind::of(&stat) != FileKind::File {
            return None;
        }
        let (file, _) = self.open_regular(GIT_FOLDER).ok()?;
        let mut text = String::new();
        file.take(4096).read_to_string(&mut text).ok()?;
        self.real(text.strip_prefix("gitdir:")?.trim()).ok()
    }
}

/// An opened file and its metadata, if it is a regular one.
pub(super) fn regular_file(
    opened: OwnedFd,
    given: &str,
) -> Result<(File, rustix::fs::Stat), FileError> {
    let stat = fstat(&opened).map_err(|errno| FileError::from_os(given, errno))?;
    match FileKind::of(&stat) {
        FileKind::File => Ok((opened.into(), stat)),
        FileKind::Directory => Err(FileError::IsDirectory(shown(given))),
        FileKind::Link | FileKind::Other => Err(FileError::NotRegular(shown(given))),
    }
}

/// The path of an opened descriptor, from the kernel.
fn path_of_descriptor(opened: BorrowedFd<'_>) -> Result<PathBuf, FileError> {
    let link = format!("/proc/self/fd/{}", opened.as_raw_fd());
    let unknown = |why: &str| {
        FileError::Unavailable(format!(
            "cannot find the path of an opened directory ({why}); `/proc` must be readable"
        ))
    };
    let path = readlinkat(CWD, link, Vec::new()).map_err(|errno| unknown(&errno.to_string()))?;
    let path = PathBuf::from(std::ffi::OsString::from_vec(path.into_bytes()));
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(unknown("it has no reachable path"))
    }
}
