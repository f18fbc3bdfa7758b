//! Removing and renaming.

use rustix::fs::{AtFlags, RenameFlags, renameat_with, unlinkat};
use rustix::io::Errno;

use super::error::{FileError, shown};
use super::protected::is_stem;
use super::target::Parents;
use super::tree::{SweepAction, judge_moved, sweep};
use super::write::TRIES;
use super::{FileKind, Jail};

impl Jail {
    /// Removes a file, a link, or an empty directory; with `recursive`, a directory and what is in
    /// it (never following links). A directory that holds a protected name anywhere is refused
    /// before anything is removed.
    pub fn remove(&self, path: &str, recursive: bool) -> Result<(), FileError> {
        let guard = self.guard()?;
        let place = self.target(&guard, path, Parents::Require)?;
        let stat = place
            .stat()?
            .ok_or_else(|| FileError::NotFound(shown(path)))?;
        let flags = if FileKind::of(&stat) == FileKind::Directory {
            if recursive {
                sweep(&guard, &place, SweepAction::Judge)?;
                sweep(&guard, &place, SweepAction::Remove)?;
            }
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        unlinkat(place.directory(), place.name(), flags).map_err(|errno| match errno {
            Errno::EXIST => FileError::NotEmpty(shown(path)),
            other => place.failed(other),
        })
    }

    /// Renames within the jail and creates the parents of the new name. A file may replace a file;
    /// nothing replaces a directory or a link.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), FileError> {
        let guard = self.guard()?;
        let source = self.target(&guard, from, Parents::Require)?;
        let stat = source
            .stat()?
            .ok_or_else(|| FileError::NotFound(shown(from)))?;
        match FileKind::of(&stat) {
            FileKind::File | FileKind::Link => {}
            FileKind::Directory => sweep(&guard, &source, SweepAction::Judge)?,
            FileKind::Other => return Err(FileError::NotRegular(shown(from))),
        }
        let target = self.target(&guard, to, Parents::Create)?;
        // `x/mcp.json` is free, `.vscode/mcp.json` is protected, so `x` must not be renamed to
        // `.vscode`. This is refused whatever `x` holds, because another call may be writing into
        // it right now.
        if FileKind::of(&stat) != FileKind::File && is_stem(target.real()) {
            return Err(FileError::Protected(shown(to)));
        }
        if FileKind::of(&stat) == FileKind::Directory {
            judge_moved(&guard, &source, target.real())?;
        }
        for _ in 0..TRIES {
            let flags = match self.replaceable(&target)? {
                Some(_) => RenameFlags::empty(),
                None => RenameFlags::NOREPLACE,
            };
            let (from, to) = (source.directory(), target.directory());
            let renamed = renameat_with(from, source.name(), to, target.name(), flags);
            if renamed == Err(Errno::EXIST) && flags == RenameFlags::NOREPLACE {
                continue;
            }
            return renamed.map_err(|errno| {
                if errno == Errno::NOENT {
                    source.failed(errno)
                } else {
                    target.failed(errno)
                }
            });
        }
        Err(FileError::Busy(shown(to)))
    }
}
