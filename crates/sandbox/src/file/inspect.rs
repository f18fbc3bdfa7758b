//! Reading metadata, listings and glob matches.

use std::os::fd::{AsFd as _, BorrowedFd};

use globset::{GlobBuilder, GlobSet};
use rustix::fs::{AtFlags, Dir, FileType, OFlags, fstat, statat};
use rustix::io::Errno;

use super::error::{FileError, shown};
use super::open::{BENEATH, NO_LINKS, READ_DIRECTORY, open_beneath};
use super::path::join;
use super::protected::GIT_FOLDER;
use super::{Entry, Jail, Stat};

/// The most entries that one pattern may visit.
const LOOKED_AT: usize = 100_000;
/// The longest pattern.
const PATTERN_MAX: usize = 1024;

impl Jail {
    /// Metadata of a path; `None` if it does not exist.
    pub fn stat(&self, path: &str) -> Result<Option<Stat>, FileError> {
        let inside = self.parse(path)?;
        match open_beneath(self.root.as_fd(), inside.as_str(), OFlags::PATH, BENEATH) {
            Ok(opened) => {
                self.judge_listed(opened.as_fd(), path)?;
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
        given: &str,
    ) -> Result<Option<String>, FileError> {
        if self.bounds.is_open() {
            return Ok(None);
        }
        let real = self.real_of(opened, given)?;
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
        let real = self.judge_listed(opened.as_fd(), path)?;
        let mut directory = Dir::new(opened).map_err(failed)?;
        let mut entries = Vec::new();
        while let Some(entry) = directory.read() {
            let entry = entry.map_err(failed)?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            if real.as_ref().is_some_and(|real| {
                !self
                    .bounds
                    .leads_on(&join(real, &entry.file_name().to_string_lossy()))
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

    /// Regular files whose workspace-relative path matches a glob (`**` crosses directories),
    /// sorted. Refused if there are more than `max` results or too many entries to visit. Does not
    /// follow links; leaves out `.git`, unreadable directories and names that are not UTF-8.
    pub fn glob(&self, pattern: &str, max: usize) -> Result<Vec<String>, FileError> {
        let wide = |max, what| FileError::TooWide {
            pattern: shown(pattern),
            max,
            what,
        };
        let search = Search::parse(self, pattern)?;
        let mut found = Vec::new();
        let mut looked_at = 0_usize;
        let mut waiting = vec![search.start.clone()];
        while let Some(path) = waiting.pop() {
            let opened =
                match open_beneath(self.root.as_fd(), path.as_str(), READ_DIRECTORY, NO_LINKS) {
                    // Missing, not a directory, a link, or unreadable: nothing to find. A path too
                    // long to name is too deep to open.
                    Err(
                        Errno::NOENT
                        | Errno::NOTDIR
                        | Errno::LOOP
                        | Errno::ACCESS
                        | Errno::PERM
                        | Errno::NAMETOOLONG,
                    ) => continue,
                    done => done.map_err(|errno| FileError::from_open(&path, errno))?,
                };
            let failed = |errno| FileError::from_os(&path, errno);
            let mut directory = Dir::new(opened).map_err(failed)?;
            while let Some(entry) = directory.read() {
                let entry = entry.map_err(failed)?;
                let name = match entry.file_name().to_str() {
                    Ok("." | ".." | GIT_FOLDER) | Err(_) => continue,
                    Ok(name) => name,
                };
                looked_at += 1;
                if looked_at > LOOKED_AT {
                    return Err(wide(LOOKED_AT, "entries to look at"));
                }
                let child = join(&path, name);
                let kind = match entry.file_type() {
                    // Some file systems do not report the type in the listing.
                    FileType::Unknown => match statat(
                        directory.fd().map_err(failed)?,
                        entry.file_name(),
                        AtFlags::SYMLINK_NOFOLLOW,
                    ) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(_) => continue,
                    },
                    kind => kind,
                };
                if kind == FileType::Directory
                    && search.reaches_below(&child)
                    && self.bounds.leads_on(&child)
                {
                    waiting.push(child);
                } else if kind == FileType::RegularFile
                    && search.matcher.is_match(&child)
                    && self.bounds.shows(&child)
                {
                    if found.len() == max {
                        return Err(wide(max, "matches"));
                    }
                    found.push(child);
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

/// A parsed pattern: where to start and how deep to go, so that a narrow pattern visits little.
struct Search {
    matcher: GlobSet,
    /// The directory that holds every match.
    start: String,
    /// The most components a match can have, if the pattern limits them.
    depth: Option<usize>,
}

impl Search {
    fn parse(jail: &Jail, pattern: &str) -> Result<Self, FileError> {
        let bad = |why: &str| FileError::BadPattern {
            pattern: shown(pattern),
            why: why.into(),
        };
        if pattern.is_empty() || pattern.contains('\0') || pattern.len() > PATTERN_MAX {
            return Err(bad(
                "expected 1 to 1024 bytes without a zero byte, such as `src/**/*.rs`",
            ));
        }
        if pattern.split('/').any(|part| part == "..") {
            return Err(FileError::Outside(shown(pattern)));
        }
        // The same rules as for paths: relative, or absolute if it begins with the workspace,
        // component by component.
        let inside = jail.parse(pattern)?;
        let text = inside.as_str();
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .backslash_escape(true)
            .build();
        let matcher = glob
            .and_then(|glob| GlobSet::new([glob]))
            .map_err(|error| bad(&error.kind().to_string()))?;
        let parts: Vec<&str> = text.split('/').collect();
        let plain = parts
            .iter()
            .take(parts.len() - 1)
            .take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\']))
            .count();
        let start = if plain == 0 {
            ".".into()
        } else {
            parts[..plain].join("/")
        };
        // Slashes inside braces or brackets are counted too, which only makes this too large.
        let depth = (!text.contains("**")).then_some(parts.len());
        // `.git` is left out even if the pattern names it.
        if parts[..plain].contains(&GIT_FOLDER) {
            return Ok(Self {
                matcher: GlobSet::empty(),
                start,
                depth: Some(0),
            });
        }
        Ok(Self {
            matcher,
            start,
            depth,
        })
    }

    fn reaches_below(&self, directory: &str) -> bool {
        self.depth
            .is_none_or(|parts| directory.split('/').count() < parts)
    }
}
