//! The files that govern calls, as a contained command meets them.
//!
//! What exists is mounted read-only over itself. What does not exist cannot be mounted over without leaving something in the workspace
//! that other programs would stumble upon; so the folders in which such a name could appear are watched, and the command that makes one
//! is ended at once and the thing set aside.

use crate::file::{at_top, is_protected};
use rustix::fs::inotify;
use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Entries that are looked at for protected names below the top. Reading more would take longer than most commands.
const MOST_ENTRIES: usize = 4000;
/// Folders full of other people's files, in which nobody keeps settings.
const SKIPPED: &[&str] = &["node_modules", "target", ".venv", "__pycache__", "objects"];

/// Descriptors that are kept between commands.
const MOST_IDLE: usize = 16;
static IDLE: Mutex<VecDeque<(PathBuf, OwnedFd)>> = Mutex::new(VecDeque::new());

fn take_idle(workspace: &Path) -> Option<OwnedFd> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = idle.iter().position(|(of, _)| of == workspace)?;
    idle.remove(at).map(|(_, events)| events)
}

/// What is protected in one workspace.
#[derive(Debug, Default)]
pub(super) struct Protected {
    workspace: PathBuf,
    /// May not change, nor anything below.
    pub(super) fixed: Vec<PathBuf>,
    /// May not be replaced; what is in it may change.
    pub(super) pinned: Vec<PathBuf>,
    /// Are not there, or are links, which nothing can be mounted over: how they were.
    watched: Vec<(PathBuf, Option<PathBuf>)>,
    /// Whether all of the workspace was looked at.
    pub(super) is_complete: bool,
}

impl Protected {
    pub(super) fn find(workspace: &Path) -> Self {
        let mut found = Self { workspace: workspace.to_path_buf(), is_complete: true, ..Self::default() };
        let top: BTreeSet<String> = at_top().chain([".git".to_owned()]).collect();
        for name in top {
            found.note(workspace, &workspace.join(&name), &name);
        }
        found.look_below(workspace);
        found.fixed.sort();
        found.fixed.dedup();
        found
    }

    fn note(&mut self, workspace: &Path, path: &Path, name: &str) {
        match fs::symlink_metadata(path) {
            Ok(facts) if facts.is_symlink() => {
                self.watched.push((path.to_path_buf(), fs::read_link(path).ok()));
                let target = fs::canonicalize(path).ok().filter(|target| target.starts_with(workspace) && target != workspace);
                self.fixed.extend(target);
            }
            Ok(facts) if name.ends_with(".git") && facts.is_dir() => self.pinned.push(path.to_path_buf()),
            Ok(_) => self.fixed.push(path.to_path_buf()),
            Err(_) => self.watched.push((path.to_path_buf(), None)),
        }
    }

    /// Finds protected names below the top.
    fn look_below(&mut self, workspace: &Path) {
        let mut waiting = vec![workspace.to_path_buf()];
        let mut left = MOST_ENTRIES;
        while let Some(folder) = waiting.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                if left == 0 {
                    self.is_complete = false;
                    return;
                }
                left -= 1;
                let (path, name) = (entry.path(), entry.file_name());
                let Some(below) = path.strip_prefix(workspace).ok().and_then(Path::to_str) else { continue };
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_protected(below) {
                    self.note(workspace, &path, below);
                    let is_pinned = self.pinned.last() == Some(&path);
                    if is_pinned {
                        self.watch_git(&path);
                    }
                    // A folder of Git's has more protected names in it; any other is protected as a whole.
                    if !is_pinned {
                        continue;
                    }
                }
                if is_folder && !SKIPPED.iter().any(|skipped| name == *skipped) {
                    waiting.push(path);
                }
            }
        }
    }

    fn watch_git(&mut self, git: &Path) {
        for name in ["hooks", "config", "config.worktree", "commondir"] {
            self.note(git, &git.join(name), name);
        }
    }

    /// A descriptor that can be read when something happened where a protected name could appear.
    /// `None` when there is nothing to watch, or nothing to watch with: users have few such descriptors.
    pub(super) fn watch(&self) -> Option<OwnedFd> {
        let folders: BTreeSet<&Path> = self.watched.iter().filter_map(|(path, _)| path.parent()).filter(|folder| folder.is_dir()).collect();
        if folders.is_empty() {
            return None;
        }
        let events =
            take_idle(&self.workspace).or_else(|| inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK).ok())?;
        let wanted = inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO | inotify::WatchFlags::ONLYDIR;
        for folder in folders {
            // Watching what is watched already changes nothing.
            inotify::add_watch(&events, folder, wanted).ok()?;
        }
        Some(events)
    }

    /// Takes a descriptor back, for the next command in the same workspace: closing one takes longer than most commands.
    pub(super) fn keep(&self, events: OwnedFd) {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push_back((self.workspace.clone(), events));
        let surplus = if idle.len() > MOST_IDLE { idle.pop_front() } else { None };
        drop(idle);
        if let Some(surplus) = surplus {
            let _ = std::thread::Builder::new().name("close".into()).spawn(move || drop(surplus));
        }
    }

    /// What came to be although it may not.
    pub(super) fn intruders(&self) -> Vec<&Path> {
        let came = |(path, before): &&(PathBuf, Option<PathBuf>)| match (fs::symlink_metadata(path), before) {
            (Err(_), None) => false,
            (Ok(facts), Some(target)) if facts.is_symlink() => fs::read_link(path).ok().as_ref() != Some(target),
            _ => true,
        };
        self.watched.iter().filter(came).map(|(path, _)| path.as_path()).collect()
    }

    /// Sets aside what came and puts back what was there before. Called when no process of the command is left. Nothing is removed,
    /// because a person may have made it in the same moment.
    pub(super) fn restore(&self) -> Vec<PathBuf> {
        let intruders: Vec<PathBuf> = self.intruders().into_iter().map(Path::to_path_buf).collect();
        for path in &intruders {
            let aside = (0..100_u32).map(|n| aside(path, n)).find(|aside| fs::symlink_metadata(aside).is_err());
            if let Some(aside) = aside {
                let _ = fs::rename(path, aside);
            }
            let before = self.watched.iter().find(|(watched, _)| watched == path).and_then(|(_, before)| before.as_ref());
            if let Some(target) = before {
                let _ = std::os::unix::fs::symlink(target, path);
            }
        }
        intruders
    }
}

/// A name that governs nothing.
fn aside(path: &Path, n: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("set-aside-{n}-{}", name.trim_start_matches('.')))
}
