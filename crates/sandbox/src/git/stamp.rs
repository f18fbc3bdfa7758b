//! Recognising files that did not change since they were read, and opening them without waiting.

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, lstat, open, stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What identifies a file and its content. A process can set the time of a change back, but not the
/// time at which it did that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    size: i64,
    modified: Duration,
    changed: Duration,
    /// Whether a later change would show. The kernel's clock is coarse: a file that changed a moment
    /// ago can change again without a new time.
    pub(crate) was_settled: bool,
    is_folder: bool,
    is_executable: bool,
}

impl PartialEq for Stamp {
    fn eq(&self, other: &Self) -> bool {
        let times = |stamp: &Self| (stamp.size, stamp.modified, stamp.changed);
        self.is_same_file(other) && times(self) == times(other)
    }
}

impl Eq for Stamp {}

impl Stamp {
    /// The stamp of what a path leads to; `None` if nothing is there.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        stat(path).ok().map(|facts| Self::new(&facts))
    }

    /// The stamp of a name, be it a link or not.
    pub(super) fn of_name(path: &Path) -> Option<Self> {
        lstat(path).ok().map(|facts| Self::new(&facts))
    }

    pub(super) fn new(facts: &Stat) -> Self {
        const LONG_AGO: Duration = Duration::from_millis(50);
        let time = |seconds: i64, nanoseconds: u64| {
            Duration::new(
                u64::try_from(seconds).unwrap_or(0),
                u32::try_from(nanoseconds).unwrap_or(0),
            )
        };
        let changed = time(facts.st_ctime, facts.st_ctime_nsec);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let age = now.and_then(|now| now.checked_sub(changed));
        let kind = FileType::from_raw_mode(facts.st_mode);
        Self {
            device: facts.st_dev,
            inode: facts.st_ino,
            size: facts.st_size,
            modified: time(facts.st_mtime, facts.st_mtime_nsec),
            changed,
            was_settled: age.is_some_and(|age| age > LONG_AGO),
            is_folder: kind == FileType::Directory,
            is_executable: kind == FileType::RegularFile && facts.st_mode & 0o111 != 0,
        }
    }

    /// Whether it changed since this time, by the clock of the kernel.
    pub(crate) fn changed_since(&self, time: Duration) -> bool {
        self.changed >= time
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.size.unsigned_abs()
    }

    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode, self.is_folder) == (other.device, other.inode, other.is_folder)
    }

    pub(super) fn is_folder(&self) -> bool {
        self.is_folder
    }

    /// Whether it is a file that can be run.
    pub(super) fn is_executable(&self) -> bool {
        self.is_executable
    }
}

/// Opens a regular file, whatever is at the path: a pipe does not block. `None` if nothing is there.
pub(super) fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        opened => opened?,
    };
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(Some(file.into())),
        // People write `/dev/null` to mean nothing.
        FileType::CharacterDevice if path == Path::new("/dev/null") => Ok(None),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}
