//! Writing: always into a new file that takes the name in one step, except for adding to the end.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;

use rustix::fs::{AtFlags, Gid, Mode, OFlags, RenameFlags, Uid, fchmod, fchown, fstat, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};

use super::error::{FileError, shown};
use super::open::{NO_LINKS, beneath};
use super::place::{Parents, Place};
use super::{FileKind, Jail};

/// The permissions of a new file, before the user's mask.
const NEW_FILE: u32 = 0o644;
/// The most that one copy may write.
const COPY_MAX: u64 = 1 << 30;
/// How often a name that keeps appearing and vanishing is tried.
pub(super) const TRIES: usize = 32;

impl Jail {
    /// Replaces or creates a file in one step; says whether it was created. Parents are created.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<bool, FileError> {
        let place = self.place(&self.guard()?, path, Parents::Create)?;
        self.put(&place, NEW_FILE, |file| file.write_all(bytes).map_err(|error| FileError::from_io(path, error)))
    }

    /// Adds to the end of a file, creating it and its parents when needed.
    pub fn append(&self, path: &str, bytes: &[u8]) -> Result<(), FileError> {
        let place = self.place(&self.guard()?, path, Parents::Create)?;
        let failed = |error: io::Error| FileError::from_io(path, error);
        for _ in 0..TRIES {
            if self.replaceable(&place)?.is_none() {
                let mut draft = Draft::create(&place, NEW_FILE)?;
                draft.file.write_all(bytes).map_err(failed)?;
                if draft.take_free_name()? {
                    return Ok(());
                }
                continue;
            }
            let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
            let opened = match beneath(place.directory(), place.name(), flags, NO_LINKS) {
                Err(Errno::NOENT | Errno::LOOP) => continue,
                done => done.map_err(|errno| FileError::from_open(path, errno))?,
            };
            let stat = fstat(&opened).map_err(|errno| place.failed(errno))?;
            if FileKind::of(&stat) != FileKind::File {
                return Err(FileError::NotRegular(shown(path)));
            }
            // A name inside could have been taken away after the open, leaving one link: the outside one. So the one link has to be
            // this name, at one moment after the open.
            match self.replaceable(&place)? {
                Some(now) if now.st_ino == stat.st_ino && now.st_dev == stat.st_dev => {
                    return File::from(opened).write_all(bytes).map_err(failed);
                }
                _ => {}
            }
        }
        Err(FileError::Busy(shown(path)))
    }

    /// Copies a regular file, its permissions too where the copy is new. Parents are created.
    pub fn copy(&self, from: &str, to: &str) -> Result<(), FileError> {
        let (source, stat) = self.open_file(from)?;
        let too_large = || FileError::TooLarge { path: shown(from), max: COPY_MAX };
        if u64::try_from(stat.st_size).is_ok_and(|size| size > COPY_MAX) {
            return Err(too_large());
        }
        let place = self.place(&self.guard()?, to, Parents::Create)?;
        self.put(&place, stat.st_mode & 0o777, |file| {
            let copied = io::copy(&mut (&source).take(COPY_MAX + 1), file).map_err(|error| FileError::from_io(to, error))?;
            if copied > COPY_MAX { Err(too_large()) } else { Ok(()) }
        })
        .map(drop)
    }

    /// Fills a new file and gives it the place's name; says whether the name is new.
    fn put(&self, place: &Place, mode: u32, fill: impl FnOnce(&mut File) -> Result<(), FileError>) -> Result<bool, FileError> {
        // What replaces a file starts private, so a secret is never readable for a moment; its permissions come at the end.
        let mode = if self.replaceable(place)?.is_some() { 0o600 } else { mode };
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

/// A new file under a name nobody can guess, removed again unless it takes the place's name.
struct Draft<'a> {
    place: &'a Place,
    name: String,
    file: File,
    kept: bool,
}

impl<'a> Draft<'a> {
    fn create(place: &'a Place, mode: u32) -> Result<Self, FileError> {
        let mut random = [0_u8; 16];
        getrandom(&mut random, GetRandomFlags::empty()).map_err(|errno| place.failed(errno))?;
        let name = format!(".new-{:032x}", u128::from_ne_bytes(random));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(place.directory(), name.as_str(), flags, Mode::from_raw_mode(mode)).map_err(|errno| place.failed(errno))?;
        Ok(Self { place, name, file: File::from(opened), kept: false })
    }

    /// Takes the name if nothing has it; says whether it did.
    fn take_free_name(&mut self) -> Result<bool, FileError> {
        let directory = self.place.directory();
        let renamed = match renameat_with(directory, self.name.as_str(), directory, self.place.name(), RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => return Ok(false),
            // A file system without this flag. Nothing had the name a moment ago, and only the name is replaced, never what it leads to.
            Err(Errno::INVAL) => renameat(directory, self.name.as_str(), directory, self.place.name()),
            done => done,
        };
        renamed.map_err(|errno| self.place.failed(errno))?;
        self.kept = true;
        Ok(true)
    }

    /// Takes the name of a file, with its permissions, and its owner where this user may give it.
    fn take_name_of(&mut self, replaced: &rustix::fs::Stat) -> Result<(), FileError> {
        let failed = |errno| self.place.failed(errno);
        // The bits that lend an owner's rights are not carried over, as with any write.
        fchmod(&self.file, Mode::from_raw_mode(replaced.st_mode & 0o777)).map_err(failed)?;
        let own = fstat(&self.file).map_err(failed)?;
        if (own.st_uid, own.st_gid) != (replaced.st_uid, replaced.st_gid) {
            // An ordinary user may not give files away; then the new file is theirs.
            let _ = fchown(self.file.as_fd(), Some(Uid::from_raw(replaced.st_uid)), Some(Gid::from_raw(replaced.st_gid)));
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
            // Nothing can be done about a failure here; the operation has failed already.
            let _ = unlinkat(self.place.directory(), self.name.as_str(), AtFlags::empty());
        }
    }
}
