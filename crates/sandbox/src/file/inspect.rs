//! Reading metadata and listings.

use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{AtFlags, Dir, OFlags, fstat, statat};
use rustix::io::Errno;

use super::error::{FileError, shown};
use super::open::{BENEATH, READ_DIRECTORY, open_beneath};
use super::path::join;
use super::{Entry, Jail, Stat};

impl Jail {
    /// Metadata of a path; `None` if it does not exist.
    pub fn stat(&self, path: &str) -> Result<Option<Stat>, FileError> {
        let inside = self.parse(path)?;
        match open_beneath(self.root.as_fd(), inside.as_str(), OFlags::PATH, BENEATH) {
            Ok(opened) => {
                self.judge_listed(opened.as_fd(), inside.as_str(), path)?;
                fstat(&opened)
                    .map(|stat| Some(Stat::of(&stat)))
                    .map_err(|errno| FileError::from_os(path, errno))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(errno) => Err(FileError::from_open(path, errno)),
        }
    }

    /// Refuses a path that may not be read and does not lead to one that may. Returns its real path
    /// if its entries must be judged, too.
    fn judge_listed(
        &self,
        opened: BorrowedFd<'_>,
        inside: &str,
        given: &str,
    ) -> Result<Option<String>, FileError> {
        if self.is_open() {
            return Ok(None);
        }
        let real = self.real_of(opened, given)?;
        self.private.judge(&real, given)?;
        self.judge_opened(inside, &real, given)?;
        if self.bounds.leads_on(&real) {
            Ok(Some(real))
        } else {
            Err(FileError::OutOfBounds(shown(given)))
        }
    }

    /// The entries of a directory, by name; refused when there are more than `max`.
    pub fn list(&self, path: &str, max: usize) -> Result<Vec<Entry>, FileError> {
        let inside = self.parse(path)?;
        let failed = |errno| FileError::from_open(path, errno);
        let opened = open_beneath(self.root.as_fd(), inside.as_str(), READ_DIRECTORY, BENEATH)
            .map_err(failed)?;
        let real = self.judge_listed(opened.as_fd(), inside.as_str(), path)?;
        let mut directory = Dir::new(opened).map_err(failed)?;
        let mut entries = Vec::new();
        while let Some(entry) = directory.read() {
            let entry = entry.map_err(failed)?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if real.as_ref().is_some_and(|real| {
                !self.leads_on(&join(real, &entry.file_name().to_string_lossy()))
            }) {
                continue;
            }
            if entries.len() == max {
                return Err(FileError::TooMany {
                    path: shown(path),
                    max,
                    what: "entries",
                });
            }
            match statat(
                directory.fd().map_err(failed)?,
                entry.file_name(),
                AtFlags::SYMLINK_NOFOLLOW,
            ) {
                Ok(stat) => entries.push(Entry {
                    name: entry.file_name().to_string_lossy().into_owned(),
                    stat: Stat::of(&stat),
                }),
                // It was removed after the listing named it.
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
}
