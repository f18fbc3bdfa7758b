//! Looking for the files that govern calls.

use super::known::{Kind, Known};
use super::{Depth, Protected, Watching};
use crate::file::{at_top, is_protected, may_end_protected, stem_rests};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, openat2, statat};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Entries that are looked at. Reading more would take longer than most commands.
const MOST_ENTRIES: usize = 20_000;
/// Folders full of other people's files, in which nobody keeps settings.
const SKIPPED: &[&str] = &["node_modules", "target", ".venv", "__pycache__", "objects"];
/// What of Git's folder has settings in it.
const IN_GIT: &[&str] = &["modules", "worktrees"];
/// What in Git's folder makes it run programs.
const GIT_NAMES: &[&str] = &["hooks", "config", "config.worktree", "commondir"];
/// What makes a folder one of Git's, whatever it is called.
const GIT_PARTS: &[&str] = &["HEAD", "objects", "refs", "commondir"];
/// Room for names that are read at once.
const SPACE: usize = 16 << 10;
/// Protected names that are held open for one command.
const MOST_HELD: usize = 32;

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
        let mut start = Vec::new();
        for at in 0..self.roots.len() {
            let path = self.roots[at].path.clone();
            if is_protected(&self.below(at, &path)) {
                self.note(&path);
            } else {
                start.push((at, path));
            }
        }
        self.look(start, When::First);
        // The project's own names may be links that lead into a place that is written, although they do not lie in one.
        if !self.roots.iter().any(|root| root.path == project) {
            at_top().chain([".git".to_owned()]).for_each(|name| self.follow(&project.join(name)));
        }
    }

    /// Looks at everything, because something may have been missed.
    pub(super) fn look_again(&mut self, events: Option<&File>) {
        self.check_all();
        let start: Vec<_> = self.roots.iter().enumerate().map(|(at, root)| (at, root.path.clone())).collect();
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

    pub(super) fn look(&mut self, start: Vec<(usize, PathBuf)>, when: When) {
        self.look_on(start, when, None);
    }

    /// Looks through folders, those above before those below; while a command runs, until the time is over, and what is left is kept.
    fn look_on(&mut self, start: Vec<(usize, PathBuf)>, when: When, while_it_runs: Option<(&File, Instant)>) {
        let mut waiting = VecDeque::from(start);
        let mut left = MOST_ENTRIES;
        while let Some((root, folder)) = waiting.pop_front() {
            if while_it_runs.is_some_and(|(_, until)| Instant::now() >= until) {
                self.unread.push_back((root, folder));
                self.unread.extend(waiting);
                return;
            }
            if when != When::Peek {
                // Before it is read, so that nothing comes in between.
                self.watch(&folder, while_it_runs.map(|(events, _)| events));
            }
            let found = self.read(&folder, left);
            for (path, kind, may_govern) in found.entries {
                match when {
                    _ if !may_govern => {}
                    When::First => self.note_if_protected(root, &path, kind),
                    When::Later | When::Peek => self.judge(root, &path),
                }
                if kind == FileType::Directory && when != When::Peek && self.is_looked_into(root, &path, when) {
                    waiting.push_back((root, path));
                }
            }
            if is_of_git(found.parts) {
                self.meet_git(root, &folder, when);
            }
            if found.count > left {
                self.is_complete = false;
                return;
            }
            left -= found.count;
        }
    }

    /// Whether a folder is looked into.
    pub(super) fn is_looked_into(&self, root: usize, path: &Path, when: When) -> bool {
        let own = path.file_name().unwrap_or_default().to_string_lossy();
        let is_in_git = path.parent().is_some_and(|above| above.file_name() == Some(OsStr::new(".git")));
        let is_wanted = if is_in_git { IN_GIT.contains(&&*own) } else { !SKIPPED.contains(&&*own) };
        let is_near = match self.roots[root].depth {
            Depth::Whole => true,
            Depth::Top => path.parent() == Some(&self.roots[root].path) && (own == ".git" || stem_rests(&own).next().is_some()),
        };
        // A new worktree is none until a `.git` elsewhere says so; people make them while commands run.
        let is_idle = when != When::First && path.parent().is_some_and(|above| above.ends_with(".git/worktrees"));
        // What is protected as a whole cannot change.
        let is_closed = own != ".git" && may_end_protected(&own) && is_protected(&self.below(root, path));
        is_wanted && is_near && !is_idle && !is_closed
    }

    fn note_if_protected(&mut self, root: usize, path: &Path, kind: FileType) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_protected(&self.below(root, path)) {
            self.note(path);
        } else if kind == FileType::Symlink {
            // Nothing else tells what lies behind a link that stands for the first part of a name.
            stem_rests(&name).for_each(|rest| self.follow(&path.join(rest)));
        }
    }

    /// Remembers a protected name that is there.
    fn note(&mut self, path: &Path) {
        let hold = self.holds && self.known.len() < MOST_HELD;
        let Some(known) = Known::at(path, hold) else { return };
        match &known.was.kind {
            Kind::Link(_) => return self.follow(path),
            Kind::Folder if path.file_name() == Some(OsStr::new(".git")) => self.pinned.push(path.to_path_buf()),
            Kind::File(..) | Kind::Folder => self.fixed.push(path.to_path_buf()),
        }
        if !self.is_known(path) {
            self.known.push(known);
        }
    }

    /// Remembers every link on the way that a name leads, and what is at its end.
    fn follow(&mut self, path: &Path) {
        let (links, end) = trail(path);
        for link in links {
            if self.root_of(&link).is_none() {
                continue;
            }
            let hold = self.holds && self.known.len() < MOST_HELD;
            let parent = link.parent().map(Path::to_path_buf).unwrap_or_default();
            self.watch(&parent, None);
            if !self.is_known(&link)
                && let Some(known) = Known::at(&link, hold)
            {
                self.known.push(known);
                self.ways.push(parent);
            }
        }
        let holds_root = |end: &Path| self.roots.iter().any(|root| root.path.starts_with(end));
        let Some(end) = end.filter(|end| self.root_of(end).is_some() && !holds_root(end)) else { return };
        let there = end.ancestors().skip(1).find(|above| above.is_dir()).map(Path::to_path_buf);
        there.into_iter().for_each(|above| self.watch(&above, None));
        if end.exists() { self.note(&end) } else { self.aliases.push(end) }
    }

    /// Looks whether a name that came may be there.
    pub(super) fn judge(&mut self, root: usize, path: &Path) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let parent = path.parent().unwrap_or(path);
        let governs = may_end_protected(&name) && is_protected(&self.below(root, path))
            || self.aliases.iter().any(|alias| alias == path)
            || GIT_NAMES.contains(&name.as_str()) && self.bare.contains(parent)
            || stem_rests(&name).next().is_some() && path.is_symlink();
        if governs && !self.is_known(path) && is_there(path) {
            self.intruders.insert(path.to_path_buf());
        }
        if GIT_PARTS.contains(&name.as_str()) {
            let found = GIT_PARTS.iter().enumerate().filter(|(_, part)| is_there(&parent.join(part)));
            if is_of_git(found.fold(0, |parts, (at, _)| parts | 1 << at)) {
                self.meet_git(root, &parent.to_path_buf(), When::Later);
            }
        }
    }

    /// A folder looks like one of Git's: whoever starts Git there, or an editor that does, runs what its `config` says.
    fn meet_git(&mut self, root: usize, folder: &PathBuf, when: When) {
        let is_inside = Path::new(&self.below(root, folder)).components().any(|part| part.as_os_str() == ".git");
        if is_inside || self.bare.contains(folder) {
            return;
        }
        if when == When::First {
            GIT_NAMES.iter().for_each(|name| self.note(&folder.join(name)));
            self.bare.insert(folder.clone());
        } else {
            // Without this one it is none.
            self.intruders.insert(folder.join("HEAD"));
        }
    }

    pub(super) fn is_known(&self, path: &Path) -> bool {
        self.known.iter().any(|known| known.path.as_os_str() == path.as_os_str())
    }

    /// A path as protected names are spelled.
    fn below(&self, root: usize, path: &Path) -> String {
        path.strip_prefix(&self.roots[root].base).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// What is in a folder. It is opened without following links, because a command may put one where the folder was.
    fn read(&mut self, folder: &Path, most: usize) -> Found {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let mut found = Found::default();
        let opened = match opened {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return found,
            Err(_) => {
                self.closed.insert(folder.to_path_buf());
                return found;
            }
        };
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut entries = RawDir::new(opened, &mut space);
        while let Some(Ok(entry)) = entries.next() {
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            found.count += 1;
            if found.count > most {
                break;
            }
            let path = || folder.join(OsStr::from_bytes(name));
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    statat(CWD, path(), AtFlags::SYMLINK_NOFOLLOW).map_or(FileType::Unknown, |facts| FileType::from_raw_mode(facts.st_mode))
                }
                kind => kind,
            };
            if let Some(part) = GIT_PARTS.iter().position(|part| part.as_bytes() == name) {
                found.parts |= 1 << part;
            }
            let may_govern = kind == FileType::Symlink || !self.aliases.is_empty() || may_end_protected(&String::from_utf8_lossy(name));
            if may_govern || kind == FileType::Directory {
                found.entries.push((path(), kind, may_govern));
            }
        }
        found
    }
}

/// What is in a folder: the folders, and what may govern calls.
#[derive(Default)]
struct Found {
    entries: Vec<(PathBuf, FileType, bool)>,
    /// Which of [`GIT_PARTS`].
    parts: u32,
    /// How much there is in all.
    count: usize,
}

fn is_of_git(parts: u32) -> bool {
    let has = |wanted: u32| parts & wanted == wanted;
    has(0b0111) || has(0b1001)
}

fn is_there(path: &Path) -> bool {
    // Whoever closed the folder has something to hide.
    !matches!(statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW), Err(Errno::NOENT | Errno::NOTDIR))
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
            target.iter().rev().for_each(|part| waiting.push_front(part.to_owned()));
        }
    }
    (links, Some(at))
}
