//! Looking for protected files.

use super::git;
use super::path_node::PathNode;
use super::protected_file::{KeepOpen, OriginalKind, ProtectedFile};
use super::restore::is_gone;
use super::writable_root::{OpenParent, ScanDepth, UnlockedFolder};
use super::{ProtectedFiles, Watching};
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

/// How many entries to scan. Reading more would take longer than most commands.
const MOST_ENTRIES: usize = 20_000;
/// Folders full of third-party files, in which people keep no settings.
const SKIPPED: &[&str] = &["node_modules", "target", ".venv", "__pycache__", "objects"];
/// Parts of Git's folder with many files and no settings.
const NOT_IN_GIT: &[&str] = &["refs", "logs", "lfs"];
/// What makes a folder one of Git's, whatever its name.
const GIT_PARTS: &[&str] = &["HEAD", "objects", "refs", "commondir"];
/// Buffer for directory entries.
const SPACE: usize = 16 << 10;
/// Protected files kept open for one command.
const MOST_HELD: usize = 32;
/// The kernel cannot mount over a longer path.
const LONGEST_PATH: usize = 4096;

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
    pub(super) fn scan_first(&mut self, project: &Path, watching: Watching) {
        self.holds = watching == Watching::Yes;
        let (protected, start): (Vec<_>, Vec<_>) =
            self.places().into_iter().partition(PathNode::is_protected);
        protected.into_iter().for_each(|place| self.remember(place));
        self.scan(start, ScanPhase::First);
        // The project's own names may be links into a writable place, although they are not in one.
        if !self.roots.iter().any(|root| root.path == project) {
            protected_paths()
                .chain([GIT_FOLDER.to_owned()])
                .for_each(|name| self.follow_links(&project.join(name)));
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
            self.scan_folders(vec![next], ScanPhase::Later, Some((events, started + time)));
            if started.elapsed() >= time {
                return self.unread.is_empty();
            }
        }
        true
    }

    pub(super) fn scan(&mut self, start: Vec<PathNode>, when: ScanPhase) {
        self.scan_folders(start, when, None);
    }

    /// Scans folders, those above before those below; while a command runs, until the time is up,
    /// and keeps the rest for later.
    fn scan_folders(
        &mut self,
        start: Vec<PathNode>,
        when: ScanPhase,
        while_it_runs: Option<(&File, Instant)>,
    ) {
        let mut waiting: VecDeque<(PathNode, Option<Arc<OpenParent>>)> =
            start.into_iter().map(|node| (node, None)).collect();
        let mut left = MOST_ENTRIES;
        while let Some((node, near)) = waiting.pop_front() {
            if while_it_runs.is_some_and(|(_, until)| Instant::now() >= until) {
                self.unread.push_back(node);
                self.unread
                    .extend(waiting.into_iter().map(|(node, _)| node));
                return;
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
            let found = self.read(folder, left);
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
            if found.count > left {
                self.is_complete = false;
                // A later, more patient scan must read it all.
                if let (Some(scanned), Ok(facts)) = (&mut self.scanned, fstat(folder)) {
                    scanned.remove(&(facts.st_dev, facts.st_ino));
                }
                return;
            }
            left -= found.count;
            let near = (!below.is_empty())
                .then(|| OpenParent::keep(opened))
                .flatten();
            waiting.extend(below.into_iter().map(|node| (node, near.clone())));
        }
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

    fn remember_if_protected(&mut self, node: &PathNode, kind: FileType) {
        if node.is_protected() {
            self.remember(node.clone());
        } else if kind == FileType::Symlink {
            // A link may stand for the first part of a protected name.
            let path = self.path_of(node);
            protected_rests(&node.name().to_string_lossy())
                .for_each(|rest| self.follow_links(&path.join(rest)));
        }
    }

    /// Remembers a protected file that exists.
    fn remember(&mut self, node: PathNode) {
        let Some(existing) = ProtectedFile::at(&self.roots, node, self.hold()) else {
            return;
        };
        if existing.path.as_os_str().len() >= LONGEST_PATH {
            self.is_complete = false;
            return;
        }
        match &existing.was.kind {
            OriginalKind::Link(_) => return self.follow_links(&existing.path),
            OriginalKind::Folder if existing.node.name() == OsStr::new(GIT_FOLDER) => {
                self.pinned.push(existing.path.clone());
                git::obeyed(&existing.path)
                    .iter()
                    .for_each(|path| self.follow_links(path));
            }
            OriginalKind::File(..) | OriginalKind::Folder => self.fixed.push(existing.path.clone()),
        }
        if !self.is_known(&existing.node) {
            self.existing.push(existing);
        }
    }

    fn hold(&self) -> KeepOpen {
        if self.holds && self.existing.len() < MOST_HELD {
            KeepOpen::Yes
        } else {
            KeepOpen::No
        }
    }

    /// Remembers every link on the way of a path, and its target.
    fn follow_links(&mut self, path: &Path) {
        let (links, end) = resolve_links(path);
        for link in links {
            let Some(node) = self.node_of(&link) else {
                continue;
            };
            if let Some(above) = node.above().cloned() {
                self.watch_at(&above);
            }
            if !self.is_known(&node)
                && let Some(existing) = ProtectedFile::at(&self.roots, node, self.hold())
            {
                self.existing.push(existing);
                self.ways
                    .push(link.parent().map(Path::to_path_buf).unwrap_or_default());
            }
        }
        let holds_root = |end: &Path| self.roots.iter().any(|root| root.path.starts_with(end));
        let Some(end) = end.filter(|end| !holds_root(end)) else {
            return;
        };
        let Some(node) = self.node_of(&end) else {
            return;
        };
        let there = end
            .ancestors()
            .skip(1)
            .find(|above| above.is_dir())
            .and_then(|above| self.node_of(above));
        there.into_iter().for_each(|above| self.watch_at(&above));
        if end.exists() {
            self.remember(node)
        } else {
            self.aliases.push(end)
        }
    }

    /// Watches a folder, if possible.
    fn watch_at(&mut self, node: &PathNode) {
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
            git_names().for_each(|name| self.remember(folder.child(OsStr::new(name))));
            self.bare.insert(folder.clone());
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
    fn read(&self, folder: &OwnedFd, most: usize) -> FolderContents {
        let mut found = FolderContents::default();
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
                    .map_or(FileType::Unknown, kind_of),
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

/// Every link on the way of a path, and where it ends; a missing path ends where it would be.
fn resolve_links(path: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
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
