//! Looking for protected files.

use super::ProtectedFiles;
use super::path_node::PathNode;
use super::restore::is_gone;
use super::writable_root::{OpenParent, ScanDepth, UnlockedFolder};
use crate::file::{GIT_FOLDER, git_names, is_protected_name, protected_rests};
use rustix::fs::{AtFlags, FileType, RawDir, Stat, fstat, statat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What one scan may cost: an entry costs one, and a folder as much as [`FOLDER_COST`] entries. More
/// would take longer than most commands.
const MOST_COST: usize = 100_000;
/// The same when no process is left: what a command created is looked through.
const MOST_LAST_COST: usize = 2_000_000;
const FOLDER_COST: usize = 40;
/// Entries of one folder.
const MOST_ENTRIES: usize = 1_000_000;
/// Folders full of third-party files, in which people keep no settings.
const SKIPPED: &[&str] = &["node_modules", "target", ".venv", "__pycache__", "objects"];
/// Parts of Git's folder with many files and no settings.
const NOT_IN_GIT: &[&str] = &["refs", "logs", "lfs"];
/// What makes a folder one of Git's, whatever its name.
const GIT_PARTS: &[&str] = &["HEAD", "objects", "refs", "commondir"];
/// Buffer for directory entries.
const SPACE: usize = 16 << 10;

/// When a folder is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanPhase {
    /// Before the command: what exists is protected.
    First,
    /// Afterwards: what exists and did not before was created.
    Later,
    /// The same, without subfolders.
    Peek,
}

impl ProtectedFiles {
    /// Scans everything that is writable. What the budget leaves out is closed.
    pub(super) fn scan_first(&mut self) {
        let places = self.places().into_iter();
        let start = places.filter(|place| !place.is_protected()).collect();
        let unread = self.scan_folders(start, ScanPhase::First, None);
        if !unread.is_empty() {
            self.close_unread(unread);
        }
    }

    /// Scans everything, because events may have been missed.
    pub(super) fn rescan(&mut self, events: Option<&File>) {
        self.check_all();
        let start = self.places();
        match events {
            Some(_) => self.unread.extend(start),
            None => self.scan(start, ScanPhase::Later),
        }
    }

    /// Continues scanning for a while, and returns whether that was all: a command can create
    /// folders faster than they can be read, and its watcher must also keep its deadline.
    pub(super) fn scan_for(&mut self, events: &File, time: Duration) -> bool {
        let started = Instant::now();
        while let Some(next) = self.unread.pop_front() {
            let until = (events, started + time);
            let left = self.scan_folders(vec![next], ScanPhase::Later, Some(until));
            self.unread.extend(left);
            if started.elapsed() >= time {
                return self.unread.is_empty();
            }
        }
        true
    }

    pub(super) fn scan(&mut self, start: Vec<PathNode>, when: ScanPhase) {
        if !self.scan_folders(start, when, None).is_empty() {
            self.is_complete = false;
        }
    }

    /// Scans folders, those above before those below, and Git's first; while a command runs, until
    /// the time is up, and keeps the rest for later. Returns the folders that the budget left out.
    fn scan_folders(
        &mut self,
        start: Vec<PathNode>,
        when: ScanPhase,
        while_it_runs: Option<(&File, Instant)>,
    ) -> Vec<PathNode> {
        let mut waiting: VecDeque<(PathNode, Option<Arc<OpenParent>>)> =
            start.into_iter().map(|node| (node, None)).collect();
        let (mut cost, most) = match when {
            ScanPhase::First => (0, MOST_COST),
            ScanPhase::Later | ScanPhase::Peek => (0, MOST_LAST_COST),
        };
        while let Some((node, near)) = waiting.pop_front() {
            let is_late = while_it_runs.is_some_and(|(_, until)| Instant::now() >= until);
            if is_late || cost >= most {
                let left = waiting.into_iter().map(|(node, _)| node);
                let left = std::iter::once(node).chain(left);
                if is_late {
                    self.unread.extend(left);
                    return Vec::new();
                }
                return left.collect();
            }
            let Some(opened) = self.open(&node, near.as_deref()) else {
                continue;
            };
            drop(near);
            let folder = opened.folder();
            if when != ScanPhase::Peek {
                // Before it is read, so that nothing is missed in between.
                self.watch(&node, folder, while_it_runs.map(|(events, _)| events));
            }
            let found = self.read(folder);
            let mut below = Vec::new();
            for (name, kind, may_govern) in found.entries {
                let node = node.child(&name);
                match when {
                    _ if !may_govern => {}
                    ScanPhase::First => self.remember_if_protected(&node, kind),
                    ScanPhase::Later | ScanPhase::Peek => self.judge_name(&node, Some(folder)),
                }
                if kind == FileType::Directory
                    && when != ScanPhase::Peek
                    && self.is_scanned(&node, when)
                {
                    below.push(node);
                }
            }
            if is_of_git(found.parts) {
                self.meet_git_folder(&node, when);
            }
            if found.count > MOST_ENTRIES {
                match when {
                    ScanPhase::First => self.close(node, "has too many entries"),
                    ScanPhase::Later | ScanPhase::Peek => self.is_complete = false,
                }
                continue;
            }
            cost += found.count + FOLDER_COST;
            let near = (!below.is_empty())
                .then(|| OpenParent::keep(opened))
                .flatten();
            for node in below {
                let near = near.clone();
                if node.is_of_git() {
                    waiting.push_front((node, near));
                } else {
                    waiting.push_back((node, near));
                }
            }
        }
        Vec::new()
    }

    /// Opens a folder that should be scanned.
    fn open(
        &mut self,
        node: &PathNode,
        near: Option<&OpenParent>,
    ) -> Option<UnlockedFolder<OwnedFd>> {
        let folder = match self.root_of(node).read(node, near.map(OpenParent::folder)) {
            Ok(folder) => folder,
            Err(cause) if is_gone(&cause) => return None,
            // A folder that cannot be opened now is tried again in the end.
            Err(_) => {
                self.closed.insert(node.clone());
                return None;
            }
        };
        let is_new = match &mut self.scanned {
            Some(scanned) => fstat(folder.folder())
                .is_ok_and(|facts| scanned.insert((facts.st_dev, facts.st_ino))),
            None => true,
        };
        is_new.then_some(folder)
    }

    /// Whether a folder should be scanned.
    pub(super) fn is_scanned(&self, node: &PathNode, when: ScanPhase) -> bool {
        let own = node.name().to_string_lossy();
        let above = |up: usize| {
            std::iter::successors(Some(node), |node| node.above())
                .nth(up)
                .map(PathNode::name)
        };
        let is_skipped = SKIPPED.contains(&&*own)
            || above(1) == Some(OsStr::new(GIT_FOLDER)) && NOT_IN_GIT.contains(&&*own);
        let is_near = match self.root_of(node).depth {
            ScanDepth::Whole => true,
            ScanDepth::Top => {
                node.above().is_some_and(|above| above.above().is_none())
                    && (own == GIT_FOLDER || protected_rests(&own).next().is_some())
            }
        };
        // A new worktree does nothing until a `.git` elsewhere refers to it; people create them
        // while commands run.
        let is_worktree = when != ScanPhase::First
            && above(1) == Some(OsStr::new("worktrees"))
            && above(2) == Some(OsStr::new(GIT_FOLDER));
        // A folder that is protected entirely cannot change.
        let is_closed = own != GIT_FOLDER && node.is_protected();
        is_near && !is_skipped && !is_worktree && !is_closed
    }

    /// Watches a folder, if possible.
    pub(super) fn watch_at(&mut self, node: &PathNode) {
        if let Some(folder) = self.open(node, None) {
            self.watch(node, folder.folder(), None);
        }
    }

    /// Checks whether a new name may exist. `folder` is the one it is in, if it is open already.
    pub(super) fn judge_name(&mut self, node: &PathNode, folder: Option<&OwnedFd>) {
        let name = node.name().to_string_lossy();
        let Some(above) = node.above() else { return };
        let place = &self.root_of(node).path;
        let is_stem = protected_rests(&name).next().is_some();
        let governs = is_protected_name(&name) && node.is_protected()
            || self.aliases.iter().any(|alias| node.is_at(place, alias))
            || git_names().any(|git| git == name) && self.bare.contains(above);
        let is_part = GIT_PARTS.contains(&&*name);
        if !governs && !is_stem && !is_part {
            return;
        }
        let opened;
        let folder = match folder {
            Some(folder) => Ok(folder),
            None => {
                opened = self.root_of(node).find(above);
                let failed = |cause| Errno::from_io_error(cause).unwrap_or(Errno::IO);
                opened.as_ref().map_err(failed)
            }
        };
        let facts = |name: &OsStr| {
            folder.and_then(|folder| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW))
        };
        let is_link = |facts: Stat| kind_of(facts) == FileType::Symlink;
        let is_intruder = governs && is_there(&facts(node.name()))
            || is_stem && facts(node.name()).is_ok_and(is_link);
        let parts = GIT_PARTS
            .iter()
            .enumerate()
            .filter(|(_, part)| is_part && is_there(&facts(OsStr::new(part))));
        let is_git = is_of_git(parts.fold(0, |parts, (at, _)| parts | 1 << at));
        if is_intruder && !self.is_known(node) {
            self.intruders.insert(node.clone());
        }
        if is_git {
            self.meet_git_folder(above, ScanPhase::Later);
        }
    }

    /// A folder looks like one of Git's: Git, or an editor that runs Git, would obey its `config`
    /// there.
    fn meet_git_folder(&mut self, folder: &PathNode, when: ScanPhase) {
        if folder.is_of_git() || self.bare.contains(folder) {
            return;
        }
        if when == ScanPhase::First {
            self.remember_parts(folder);
        } else {
            // Without `HEAD` it is not one.
            self.intruders.insert(folder.child(OsStr::new("HEAD")));
        }
    }

    pub(super) fn is_known(&self, node: &PathNode) -> bool {
        let place = &self.root_of(node).path;
        self.existing
            .iter()
            .any(|existing| node.is_at(place, &existing.path))
    }

    /// Reads a folder.
    fn read(&self, folder: &OwnedFd) -> FolderContents {
        let mut found = FolderContents::default();
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut entries = RawDir::new(folder, &mut space);
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            found.count += 1;
            if found.count > MOST_ENTRIES {
                break;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, kind_of),
                kind => kind,
            };
            if let Some(part) = GIT_PARTS.iter().position(|part| part.as_bytes() == name) {
                found.parts |= 1 << part;
            }
            let may_govern = kind == FileType::Symlink
                || self.alias_names.contains(OsStr::from_bytes(name))
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

/// The content of a folder: its subfolders, and possibly protected names.
#[derive(Default)]
struct FolderContents {
    entries: Vec<(OsString, FileType, bool)>,
    /// A bit for each of [`GIT_PARTS`].
    parts: u32,
    /// The number of all entries.
    count: usize,
}

fn kind_of(facts: Stat) -> FileType {
    FileType::from_raw_mode(facts.st_mode)
}

fn is_of_git(parts: u32) -> bool {
    let has = |wanted: u32| parts & wanted == wanted;
    has(0b0111) || has(0b1001)
}

fn is_there(facts: &Result<Stat, Errno>) -> bool {
    // A process that closed the folder may hide something in it; a link in its place leads elsewhere.
    !matches!(facts, Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}
