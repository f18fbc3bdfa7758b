//! The kernel's notifications about folders that a command may write.

use super::ProtectedFiles;
use super::path_node::PathNode;
use super::scan::ScanPhase;
use super::writable_root::own;
use crate::lock::lock;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Descriptors kept between commands: closing one takes longer than most commands.
const MOST_IDLE: usize = 16;
/// Watched folders of a kept descriptor: the kernel remembers them all.
const MOST_KEPT: usize = 1000;
/// Folders watched for one command.
const MOST_WATCHED: usize = 8000;
/// Events read after a command has ended; if there are more, everything is scanned instead.
const MOST_LAST: usize = 100_000;
const SPACE: usize = 8 << 10;
static IDLE: Mutex<VecDeque<(PathBuf, File)>> = Mutex::new(VecDeque::new());

/// A descriptor for a command in this place, without events yet.
pub(super) fn take(place: &Path) -> Option<File> {
    let mut idle = lock(&IDLE);
    let at = idle.iter().position(|(of, _)| of == place);
    let kept = at.and_then(|at| idle.remove(at)).map(|(_, events)| events);
    drop(idle);
    let Some(kept) = kept else {
        let new = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        return new.map(File::from).ok();
    };
    let mut space = [MaybeUninit::uninit(); SPACE];
    while matches!(rustix::io::read(&kept, &mut space), Ok((told, _)) if !told.is_empty()) {}
    Some(kept)
}

/// Keeps a descriptor for the next command in this place.
fn put(place: &Path, events: File, folders: usize) {
    let mut surplus = Some(events);
    if folders <= MOST_KEPT {
        let mut idle = lock(&IDLE);
        idle.extend(surplus.take().map(|events| (place.to_path_buf(), events)));
        if idle.len() > MOST_IDLE {
            surplus = idle.pop_front().map(|(_, events)| events);
        }
    }
    if let Some(surplus) = surplus {
        let _ = std::thread::Builder::new()
            .name("close".into())
            .spawn(move || drop(surplus));
    }
}

impl ProtectedFiles {
    /// Watches an open folder. If it is watched already, only its path is updated.
    pub(super) fn watch(&mut self, node: &PathNode, folder: &OwnedFd, events: Option<&File>) {
        const WANTED: WatchFlags = WatchFlags::CREATE
            .union(WatchFlags::DELETE)
            .union(WatchFlags::MOVED_FROM)
            .union(WatchFlags::MOVED_TO)
            .union(WatchFlags::ONLYDIR);
        let Some(events) = events.or(self.events.as_ref()) else {
            return;
        };
        let has_room = self.folders.len() < MOST_WATCHED;
        match has_room.then(|| inotify::add_watch(events, own(folder), WANTED)) {
            Some(Ok(number)) => drop(self.folders.insert(number, node.clone())),
            // Folders that cannot be watched are scanned in the end.
            _ => drop(self.closed.insert(node.clone())),
        }
    }

    /// Reads events up to a limit; returns whether those were all.
    pub(super) fn read_events(&mut self, events: &File, most: usize) -> bool {
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut told = Reader::new(events, &mut space);
        for count in 0.. {
            // Events that were read must be handled: the kernel does not repeat them.
            if count >= most && told.is_buffer_empty() {
                break;
            }
            let Ok(event) = told.next() else { return true };
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.must_rescan = true;
                continue;
            }
            if what.contains(ReadFlags::IGNORED) {
                self.folders.remove(&event.wd());
                continue;
            }
            let (Some(folder), Some(name)) = (self.folders.get(&event.wd()), event.file_name())
            else {
                continue;
            };
            let node = folder.child(OsStr::from_bytes(name.to_bytes()));
            self.check(&node);
            if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                self.judge_name(&node, None);
                if what.contains(ReadFlags::ISDIR) && self.is_scanned(&node, ScanPhase::Later) {
                    self.unread.push_back(node);
                }
            }
        }
        false
    }

    /// Checks whether an existing protected file is still the same.
    fn check(&mut self, node: &PathNode) {
        let place = &self.roots[node.root()].path;
        for existing in self
            .existing
            .iter_mut()
            .filter(|existing| node.is_at(place, &existing.path))
        {
            existing.check(&self.roots, self.is_by_file);
        }
    }

    /// Checks all of them, because events were missed.
    pub(super) fn check_all(&mut self) {
        self.existing
            .iter_mut()
            .for_each(|existing| existing.check(&self.roots, self.is_by_file));
    }

    /// Stops watching; returns whether nothing was missed.
    pub(super) fn stop_watching(&mut self) -> bool {
        let Some(events) = self.events.take() else {
            return false;
        };
        let mut is_all = self.read_events(&events, MOST_LAST);
        // Reading folders may produce more events.
        while is_all && !self.unread.is_empty() {
            // One by one, so that a huge folder does not keep the others from being read.
            std::mem::take(&mut self.unread)
                .into_iter()
                .for_each(|next| self.scan(vec![next], ScanPhase::Later));
            is_all = self.read_events(&events, MOST_LAST);
        }
        self.unread.clear();
        if let Some(root) = self.roots.first() {
            put(&root.path, events, self.folders.len());
        }
        is_all && !std::mem::take(&mut self.must_rescan)
    }
}
