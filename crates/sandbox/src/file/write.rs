//! Writing: always to a new file that takes the name in one step, so that no existing file is ever
//! written to.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{
    AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, flock, fstat,
    openat, renameat, renameat_with, unlinkat,
};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::Jail;
use super::error::{FileError, shown};
use super::open::{NO_LINKS, READ_DIRECTORY, open_beneath};
use super::target::{Parents, WriteTarget};

/// The permissions of a new file, before the user's mask.
const NEW_FILE: u32 = 0o644;
/// How long an append waits for others.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The most that one copy may write.
const COPY_MAX: u64 = 1 << 30;
/// How often to retry a name that keeps appearing and vanishing.
pub(super) const TRIES: usize = 32;

impl Jail {
    /// Replaces or creates a file in one step, and creates its parents; returns whether it was
    /// created.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<bool, FileError> {
        let place = self.target(&self.guard()?, path, Parents::Create)?;
        self.put(&place, NEW_FILE, |file| {
            file.write_all(bytes)
                .map_err(|error| FileError::from_io(path, error))
        })
    }

    /// Appends to a file; creates it and its parents if needed.
    ///
    /// The longer text takes the name in one step, like a write. Appending in place cannot be made
    /// safe: a name that is a hard link to a file outside can be removed between opening it and
    /// counting its links, and then the one link left is the one outside.
    pub fn append(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let place = self.target(&self.guard()?, path, Parents::Create)?;
        let _turn = lock_folder(&place)?;
        self.put(&place, NEW_FILE, |file| {
            if let Some(old) = place.open_file()? {
                copy_all(&old, file, path)?;
            }
            file.write_all(bytes)
                .map_err(|error| FileError::from_io(path, error))
        })
        .map(drop)
    }

    /// Copies a regular file, with its permissions if the copy is new. Creates parents.
    pub fn copy(&self, from: &str, to: &str) -> Result<(), FileError> {
        let (source, stat) = self.open_file(from)?;
        // Refused before anything is created for it.
        fits(stat.st_size.unsigned_abs(), from)?;
        let place = self.target(&self.guard()?, to, Parents::Create)?;
        self.put(&place, stat.st_mode & 0o777, |file| {
            copy_all(&source, file, from)
        })
        .map(drop)
    }

    /// Fills a new file and gives it the target's name; returns whether the name is new.
    fn put(
        &self,
        place: &WriteTarget,
        mode: u32,
        fill: impl FnOnce(&mut File) -> Result<(), FileError>,
    ) -> Result<bool, FileError> {
        // A replacement starts private, so that a secret is never readable for a moment; it gets
        // its permissions at the end.
        let mode = if self.replaceable(place)?.is_some() {
            0o600
        } else {
            mode
        };
        let mut draft = Draft::create(place, mode)?;
        fill(&mut draft.file)?;
        for _ in 0..TRIES {
            match self.replaceable(place)? {
                Some(replaced) => return draft.take_name_of(&replaced).map(|()| false),
                None if draft.take_free_name()? => return Ok(true),
                None => {}
            }
        }
        Err(FileError::Busy(shown(place.given())))
    }
}

fn fits(size: u64, given: &str) -> Result<(), FileError> {
    if size > COPY_MAX {
        Err(FileError::TooLarge {
            path: shown(given),
            max: COPY_MAX,
        })
    } else {
        Ok(())
    }
}

/// Copies the rest of a file, which may be more than its size said.
fn copy_all(source: &File, target: &mut File, given: &str) -> Result<(), FileError> {
    let copied = io::copy(&mut source.take(COPY_MAX + 1), target)
        .map_err(|error| FileError::from_io(given, error))?;
    fits(copied, given)
}

/// Waits until no other call, here or in another process, appends to a file in the same directory,
/// so that no append is lost. Dropping the descriptor releases the lock.
fn lock_folder(place: &WriteTarget) -> Result<OwnedFd, FileError> {
    let directory = open_beneath(place.directory(), ".", READ_DIRECTORY, NO_LINKS)
        .map_err(|errno| place.failed(errno))?;
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(directory),
            // A tool's program can take the lock, too, and keep it.
            Err(Errno::WOULDBLOCK) if Instant::now() > end => {
                return Err(FileError::Busy(shown(place.given())));
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => thread::sleep(Duration::from_millis(1)),
            Err(errno) => return Err(place.failed(errno)),
        }
    }
}

/// A new file with an unguessable name, removed again unless it takes the target's name.
struct Draft<'a> {
    place: &'a WriteTarget,
    name: String,
    file: File,
    kept: bool,
}

impl<'a> Draft<'a> {
    fn create(place: &'a WriteTarget, mode: u32) -> Result<Self, FileError> {
        let mut random = [0_u8; 16];
        getrandom(&mut random, GetRandomFlags::empty()).map_err(|errno| place.failed(errno))?;
        let name = format!(".new-{:032x}", u128::from_ne_bytes(random));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(
            place.directory(),
            name.as_str(),
            flags,
            Mode::from_raw_mode(mode),
        )
        .map_err(|errno| place.failed(errno))?;
        Ok(Self {
            place,
            name,
            file: File::from(opened),
            kept: false,
        })
    }

    /// Takes the name if it is free; returns whether it was.
    fn take_free_name(&mut self) -> Result<bool, FileError> {
        let directory = self.place.directory();
        let renamed = match renameat_with(
            directory,
            self.name.as_str(),
            directory,
            self.place.name(),
            RenameFlags::NOREPLACE,
        ) {
            Err(Errno::EXIST) => return Ok(false),
            // This file system lacks the flag. The name was free a moment ago, and only the name is
            // replaced, never what it leads to.
            Err(Errno::INVAL) => {
                renameat(directory, self.name.as_str(), directory, self.place.name())
            }
            done => done,
        };
        renamed.map_err(|errno| self.place.failed(errno))?;
        self.kept = true;
        Ok(true)
    }

    /// Takes the name of an existing file, with its permissions, and its owner if this user may set
    /// it.
    fn take_name_of(&mut self, replaced: &rustix::fs::Stat) -> Result<(), FileError> {
        let failed = |errno| self.place.failed(errno);
        // Set-user-ID bits are not carried over, as with any write.
        fchmod(&self.file, Mode::from_raw_mode(replaced.st_mode & 0o777)).map_err(failed)?;
        let own = fstat(&self.file).map_err(failed)?;
        if (own.st_uid, own.st_gid) != (replaced.st_uid, replaced.st_gid) {
            // An ordinary user cannot give files away; then the new file is theirs.
            let _ = fchown(
                self.file.as_fd(),
                Some(Uid::from_raw(replaced.st_uid)),
                Some(Gid::from_raw(replaced.st_gid)),
            );
        }
        let directory = self.place.directory();
        renameat(directory, self.name.as_str(), directory, self.place.name()).map_err(failed)?;
        self.kept = true;
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing can be done about a failure here: the operation has failed already.
            let _ = unlinkat(self.place.directory(), self.name.as_str(), AtFlags::empty());
        }
    }
}
