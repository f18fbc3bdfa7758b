//! Looking for the files that govern calls.

use super::git;
use super::path_node::Spot;
use super::protected_file::{Hold, Kind, Known};
use super::writable_root::{Depth, Near, OpenedUp};
use super::{Protected, Watching};
use crate::file::{GIT_FOLDER, git_names, is_protected_name, protected_paths, protected_rests};
use rustix::fs::{AtFlags, FileType, RawDir, Stat, fstat, statat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Entries that are looked at. Reading more would take longer than most commands.
const MOST_ENTRIES: usize = 20_000;
/// Folders full of other people's files, in which nobody keeps settings.
const SKIPPED: &[&str] = &["node_modules", "target", ".venv", "__pycache__", "objects"];
/// What of Git's folder has much in it, and no settings.
const NOT_IN_GIT: &[&str] = &["refs", "logs", "lfs"];
/// What makes a folder one of Git's, whatever it is called.
const GIT_PARTS: &[&str] = &["HEAD", "objects", "refs", "commondir"];
/// Room for names that are read at once.
const SPACE: usize = 16 << 10;
/// Protected names that are held open for one command.
const MOST_HELD: usize = 32;
/// The kernel mounts nothing over a longer path.
const LONGEST_PATH: usize = 4096;

/// When a folder is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Before the command: what is there is protected.
    First,
    /// Since then: what is there and was not came to be.
    Later,
    /// The same, without what is below.
    Peek,
}

impl Protected {
    pub(super) fn look_at_first(&mut self, project: &Path, watching: Watching) {
        self.holds = watching == Watching::Yes;
        let (protected, start): (Vec<_>, Vec<_>) =
            self.places().into_iter().partition(Spot::is_protected);
        protected.into_iter().for_each(|place| self.note(place));
        self.look(start, When::First);
        // The project's own names may be links that lead into a place that is written, although they do not lie in one.
        if !self.roots.iter().any(|root| root.path == project) {
            protected_paths()
                .chain([GIT_FOLDER.to_owned()])
                .for_each(|name| self.follow(&project.join(name)));
        }
    }

    /// Looks at everything, because something may have been missed.
    pub(super) fn look_again(&mut self, events: Option<&File>) {
        self.check_all();
        let start = self.places();
        match events {
            Some(_) => self.unread.extend(start),
            None => self.look(start, When::Later),
        }
    }

    /// Looks on where it was left, for a while, and says whether that was all: a command can make folders faster than they can be read, and
    /// whoever watches it has other things to see to, its deadline first.
    pub(super) fn look_a_while(&mut self, events: &File, time: Duration) -> bool {
        let started = Instant::now();
        while let Some(next) = self.unread.pop_front() {
            self.look_on(vec![next], When::Later, Some((events, started + time)));
            if started.elapsed() >= time {
                return self.unread.is_empty();
            }
        }
        true
    }

    pub(super) fn look(&mut self, start: Vec<Spot>, when: When) {
        self.look_on(start, when, None);
    }

    /// Looks through folders, those above before those below; while a command runs, until the time is over, and what is left is kept.
    fn look_on(&mut self, start: Vec<Spot>, when: When, while_it_runs: Option<(&File, Instant)>) {
        let mut waiting: VecDeque<(Spot, Option<Arc<Near>>)> =
            start.into_iter().map(|spot| (spot, None)).collect();
        let mut left = MOST_ENTRIES;
        while let Some((spot, near)) = waiting.pop_front() {
            if while_it_runs.is_some_and(|(_, until)| Instant::now() >= until) {
                self.unread.push_back(spot);
                self.unread
                    .extend(waiting.into_iter().map(|(spot, _)| spot));
                return;
            }
            let Some(opened) = self.open(&spot, near.as_deref()) else {
                continue;
            };
            drop(near);
            let folder = opened.folder();
            if when != When::Peek {
                // Before it is read, so that nothing comes in between.
                self.watch(&spot, folder, while_it_runs.map(|(events, _)| events));
            }
            let found = self.read(folder, left);
            let mut below = Vec::new();
            for (name, kind, may_govern) in found.entries {
                let spot = spot.child(&name);
                match when {
                    _ if !may_govern => {}
                    When::First => self.note_if_protected(&spot, kind),
                    When::Later | When::Peek => self.judge(&spot, Some(folder)),
                }
                if kind == FileType::Directory
                    && when != When::Peek
                    && self.is_looked_into(&spot, when)
                {
                    below.push(spot);
                }
            }
            if is_of_git(found.parts) {
                self.meet_git(&spot, when);
            }
            if found.count > left {
                self.is_complete = false;
                // Whoever comes to it with more patience reads it all.
                if let (Some(looked_into), Ok(facts)) = (&mut self.looked_into, fstat(folder)) {
                    looked_into.remove(&(facts.st_dev, facts.st_ino));
                }
                return;
            }
            left -= found.count;
            let near = if below.is_empty() {
                None
            } else {
                Near::keep(opened)
            };
            waiting.extend(below.into_iter().map(|spot| (spot, near.clone())));
        }
    }

    /// Opens a folder that is looked into, if it is to be.
    fn open(&mut self, spot: &Spot, near: Option<&Near>) -> Option<OpenedUp<OwnedFd>> {
        let folder = match self.root_of(spot).read(spot, near.map(Near::folder)) {
            Ok(folder) => folder,
            Err(cause) => {
                let is_gone = matches!(
                    Errno::from_io_error(&cause),
                    Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
                );
                // What cannot be opened now may be in the end.
                if !is_gone {
                    self.closed.insert(spot.clone());
                }
                return None;
            }
        };
        let is_new = match &mut self.looked_into {
            Some(looked_into) => fstat(folder.folder())
                .is_ok_and(|facts| looked_into.insert((facts.st_dev, facts.st_ino))),
            None => true,
        };
        is_new.then_some(folder)
    }

    /// Whether a folder is looked into.
    pub(super) fn is_looked_into(&self, spot: &Spot, when: When) -> bool {
        let own = spot.name().to_string_lossy();
        let above = |up: usize| {
            std::iter::successors(Some(spot), |spot| spot.above())
                .nth(up)
                .map(Spot::name)
        };
        let is_skipped = SKIPPED.contains(&&*own)
            || above(1) == Some(OsStr::new(GIT_FOLDER)) && NOT_IN_GIT.contains(&&*own);
        let is_near = match self.root_of(spot).depth {
            Depth::Whole => true,
            Depth::Top => {
                spot.above().is_some_and(|above| above.above().is_none())
                    && (own == GIT_FOLDER || protected_rests(&own).next().is_some())
            }
        };
        // A new worktree is none until a `.git` elsewhere says so; people make them while commands run.
        let is_worktree = when != When::First
            && above(1) == Some(OsStr::new("worktrees"))
            && above(2) == Some(OsStr::new(GIT_FOLDER));
        // What is protected as a whole cannot change.
        let is_closed = own != GIT_FOLDER && spot.is_protected();
        is_near && !is_skipped && !is_worktree && !is_closed
    }

    fn note_if_protected(&mut self, spot: &Spot, kind: FileType) {
        if spot.is_protected() {
            self.note(spot.clone());
        } else if kind == FileType::Symlink {
            // Nothing else tells what lies behind a link that stands for the first part of a name.
            let path = self.path_of(spot);
            protected_rests(&spot.name().to_string_lossy())
                .for_each(|rest| self.follow(&path.join(rest)));
        }
    }

    /// Remembers a protected name that is there.
    fn note(&mut self, spot: Spot) {
        let Some(known) = Known::at(&self.roots, spot, self.hold()) else {
            return;
        };
        if known.path.as_os_str().len() >= LONGEST_PATH {
            self.is_complete = false;
            return;
        }
        match &known.was.kind {
            Kind::Link(_) => return self.follow(&known.path),
            Kind::Folder if known.spot.name() == OsStr::new(GIT_FOLDER) => {
                self.pinned.push(known.path.clone());
                git::obeyed(&known.path)
                    .iter()
                    .for_each(|path| self.follow(path));
            }
            Kind::File(..) | Kind::Folder => self.fixed.push(known.path.clone()),
        }
        if !self.is_known(&known.spot) {
            self.known.push(known);
        }
    }

    fn hold(&self) -> Hold {
        if self.holds && self.known.len() < MOST_HELD {
            Hold::Yes
        } else {
            Hold::No
        }
    }

    /// Remembers every link on the way that a name leads, and what is at its end.
    fn follow(&mut self, path: &Path) {
        let (links, end) = trail(path);
        for link in links {
            let Some(spot) = self.spot_of(&link) else {
                continue;
            };
            if let Some(above) = spot.above().cloned() {
                self.watch_at(&above);
            }
            if !self.is_known(&spot)
                && let Some(known) = Known::at(&self.roots, spot, self.hold())
            {
                self.known.push(known);
                self.ways
                    .push(link.parent().map(Path::to_path_buf).unwrap_or_default());
            }
        }
        let holds_root = |end: &Path| self.roots.iter().any(|root| root.path.starts_with(end));
        let Some(end) = end.filter(|end| !holds_root(end)) else {
            return;
        };
        let Some(spot) = self.spot_of(&end) else {
            return;
        };
        let there = end
            .ancestors()
            .skip(1)
            .find(|above| above.is_dir())
            .and_then(|above| self.spot_of(above));
        there.into_iter().for_each(|above| self.watch_at(&above));
        if end.exists() {
            self.note(spot)
        } else {
            self.aliases.push(end)
        }
    }

    /// Has a folder watched, where that can be.
    fn watch_at(&mut self, spot: &Spot) {
        if let Some(folder) = self.open(spot, None) {
            self.watch(spot, folder.folder(), None);
        }
    }

    /// Looks whether a name that came may be there. `folder` is the one it is in, where somebody has that open.
    pub(super) fn judge(&mut self, spot: &Spot, folder: Option<&OwnedFd>) {
        let name = spot.name().to_string_lossy();
        let Some(above) = spot.above() else { return };
        let place = &self.root_of(spot).path;
        let is_stem = protected_rests(&name).next().is_some();
        let governs = is_protected_name(&name) && spot.is_protected()
            || self.aliases.iter().any(|alias| spot.is_at(place, alias))
            || git_names().any(|git| git == name) && self.bare.contains(above);
        let is_part = GIT_PARTS.contains(&&*name);
        if !governs && !is_stem && !is_part {
            return;
        }
        let opened = if folder.is_none() {
            Some(self.root_of(spot).find(above))
        } else {
            None
        };
        let folder = match &opened {
            None => folder.ok_or(Errno::NOENT),
            Some(Ok(folder)) => Ok(folder),
            Some(Err(cause)) => Err(Errno::from_io_error(cause).unwrap_or(Errno::IO)),
        };
        let facts = |name: &OsStr| {
            folder.and_then(|folder| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))
        };
        let is_link = |facts: Stat| FileType::from_raw_mode(facts.st_mode) == FileType::Symlink;
        let is_intruder = governs && is_there(&facts(spot.name()))
            || is_stem && facts(spot.name()).is_ok_and(is_link);
        let parts = GIT_PARTS
            .iter()
            .enumerate()
            .filter(|(_, part)| is_part && is_there(&facts(OsStr::new(part))));
        let is_git = is_of_git(parts.fold(0, |parts, (at, _)| parts | 1 << at));
        if is_intruder && !self.is_known(spot) {
            self.intruders.insert(spot.clone());
        }
        if is_git {
            self.meet_git(above, When::Later);
        }
    }

    /// A folder looks like one of Git's: whoever starts Git there, or an editor that does, runs what its `config` says.
    fn meet_git(&mut self, folder: &Spot, when: When) {
        if folder.is_of_git() || self.bare.contains(folder) {
            return;
        }
        if when == When::First {
            git_names().for_each(|name| self.note(folder.child(OsStr::new(name))));
            self.bare.insert(folder.clone());
        } else {
            // Without this one it is none.
            self.intruders.insert(folder.child(OsStr::new("HEAD")));
        }
    }

    pub(super) fn is_known(&self, spot: &Spot) -> bool {
        let place = &self.root_of(spot).path;
        self.known
            .iter()
            .any(|known| spot.is_at(place, &known.path))
    }

    /// What is in a folder.
    fn read(&self, folder: &OwnedFd, most: usize) -> Found {
        let mut found = Found::default();
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut entries = RawDir::new(folder, &mut space);
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            found.count += 1;
            if found.count > most {
                break;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |facts| {
                        FileType::from_raw_mode(facts.st_mode)
                    }),
                kind => kind,
            };
            if let Some(part) = GIT_PARTS.iter().position(|part| part.as_bytes() == name) {
                found.parts |= 1 << part;
            }
            let may_govern = kind == FileType::Symlink
                || !self.aliases.is_empty()
                || is_protected_name(&String::from_utf8_lossy(name));
            if may_govern || kind == FileType::Directory {
                found
                    .entries
                    .push((OsStr::from_bytes(name).to_owned(), kind, may_govern));
            }
        }
        found
    }
}

/// What is in a folder: the folders, and what may govern calls.
#[derive(Default)]
struct Found {
    entries: Vec<(OsString, FileType, bool)>,
    /// Which of [`GIT_PARTS`].
    parts: u32,
    /// How much there is in all.
    count: usize,
}

fn is_of_git(parts: u32) -> bool {
    let has = |wanted: u32| parts & wanted == wanted;
    has(0b0111) || has(0b1001)
}

fn is_there(facts: &Result<Stat, Errno>) -> bool {
    // Whoever closed the folder has something to hide; a link in its place leads elsewhere.
    !matches!(facts, Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// Every link on the way that a path leads, and where it ends; what is not there ends where it would be.
fn trail(path: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    const MOST_LINKS: usize = 40;
    let mut links = Vec::new();
    let mut at = PathBuf::from("/");
    let mut waiting: VecDeque<_> = path.iter().map(OsStr::to_owned).collect();
    while let Some(part) = waiting.pop_front() {
        match part.as_bytes() {
            b"/" => at = PathBuf::from("/"),
            b"." => {}
            b".." => drop(at.pop()),
            _ => at.push(part),
        }
        if let Ok(target) = std::fs::read_link(&at) {
            if links.len() == MOST_LINKS {
                return (links, None);
            }
            links.push(at.clone());
            at.pop();
            target
                .iter()
                .rev()
                .for_each(|part| waiting.push_front(part.to_owned()));
        }
    }
    (links, Some(at))
}
