//! What the kernel tells about folders that a command may write.

use super::Protected;
use super::path_node::Spot;
use super::scan::When;
use super::writable_root::own;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Descriptors that are kept between commands: closing one takes longer than most commands.
const MOST_IDLE: usize = 16;
/// Folders of one that is kept: the kernel remembers them all.
const MOST_KEPT: usize = 1000;
/// Folders that are watched for one command.
const MOST_WATCHED: usize = 8000;
/// What is taken in when a command has ended, before everything is looked through instead.
const MOST_LAST: usize = 100_000;
const SPACE: usize = 8 << 10;
static IDLE: Mutex<VecDeque<(PathBuf, OwnedFd)>> = Mutex::new(VecDeque::new());

/// A descriptor for a command in this place, with nothing to tell yet.
pub(super) fn take(place: &Path) -> Option<OwnedFd> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let at = idle.iter().position(|(of, _)| of == place);
    let kept = at.and_then(|at| idle.remove(at)).map(|(_, events)| events);
    drop(idle);
    let Some(kept) = kept else {
        return inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
    };
    let mut space = [MaybeUninit::uninit(); SPACE];
    while matches!(rustix::io::read(&kept, &mut space), Ok((told, _)) if !told.is_empty()) {}
    Some(kept)
}

/// Keeps a descriptor for the next command in this place.
fn put(place: &Path, events: OwnedFd, folders: usize) {
    let mut surplus = Some(events);
    if folders <= MOST_KEPT {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(surplus.take().map(|events| (place.to_path_buf(), events)));
        surplus = if idle.len() > MOST_IDLE {
            idle.pop_front().map(|(_, events)| events)
        } else {
            None
        };
    }
    if let Some(surplus) = surplus {
        let _ = std::thread::Builder::new()
            .name("close".into())
            .spawn(move || drop(surplus));
    }
}

impl Protected {
    /// Has a folder watched that is open. Watching what is watched already changes nothing, but where it is by now.
    pub(super) fn watch(&mut self, spot: &Spot, folder: &OwnedFd, events: Option<&File>) {
        const WANTED: WatchFlags = WatchFlags::CREATE
            .union(WatchFlags::DELETE)
            .union(WatchFlags::MOVED_FROM)
            .union(WatchFlags::MOVED_TO)
            .union(WatchFlags::ONLYDIR);
        let added = match (events, &self.events) {
            (None, None) => return,
            _ if self.folders.len() >= MOST_WATCHED => Err(rustix::io::Errno::NOSPC),
            (Some(events), _) => inotify::add_watch(events, own(folder), WANTED),
            (None, Some(events)) => inotify::add_watch(events, own(folder), WANTED),
        };
        match added {
            Ok(number) => drop(self.folders.insert(number, spot.clone())),
            // What cannot be watched is looked through in the end.
            Err(_) => drop(self.closed.insert(spot.clone())),
        }
    }

    /// Takes in what was told, up to a bound, and says whether that was all.
    pub(super) fn take_in(&mut self, events: &File, most: usize) -> bool {
        let mut space = [MaybeUninit::uninit(); SPACE];
        let mut told = Reader::new(events, &mut space);
        for count in 0.. {
            // What was read is taken in: nobody is told twice.
            if count >= most && told.is_buffer_empty() {
                break;
            }
            let Ok(event) = told.next() else { return true };
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.must_look_again = true;
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
            let spot = folder.child(OsStr::from_bytes(name.to_bytes()));
            self.check(&spot);
            if what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                self.judge(&spot, None);
                if what.contains(ReadFlags::ISDIR) && self.is_looked_into(&spot, When::Later) {
                    self.unread.push_back(spot);
                }
            }
        }
        false
    }

    /// Looks whether a known name is still what it was.
    fn check(&mut self, spot: &Spot) {
        let place = &self.roots[spot.root()].path;
        for known in self
            .known
            .iter_mut()
            .filter(|known| spot.is_at(place, &known.path))
        {
            known.check(&self.roots, self.is_by_file);
        }
    }

    /// Looks at everything once more, because something was missed.
    pub(super) fn check_all(&mut self) {
        self.known
            .iter_mut()
            .for_each(|known| known.check(&self.roots, self.is_by_file));
    }

    /// Ends watching, and says whether nothing was missed.
    pub(super) fn end_watching(&mut self) -> bool {
        let Some(events) = self.events.take() else {
            return false;
        };
        let events = File::from(events);
        let mut is_all = self.take_in(&events, MOST_LAST);
        // What is read now may tell of more.
        while is_all && !self.unread.is_empty() {
            // Each for itself, so that no heap of names in one keeps the others from being read.
            std::mem::take(&mut self.unread)
                .into_iter()
                .for_each(|next| self.look(vec![next], When::Later));
            is_all = self.take_in(&events, MOST_LAST);
        }
        self.unread.clear();
        if let Some(root) = self.roots.first() {
            put(&root.path, events.into(), self.folders.len());
        }
        is_all && !std::mem::take(&mut self.must_look_again)
    }
}
