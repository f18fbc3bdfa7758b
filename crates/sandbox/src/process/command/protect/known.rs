//! One protected name that exists.

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, open, statat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a protected name was when the command started.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) path: PathBuf,
    pub(super) was: Arc<Was>,
    /// Whether something else was found in its place.
    pub(super) was_replaced: bool,
}

#[derive(Debug)]
pub(super) struct Was {
    pub(super) kind: Kind,
    number: (u64, u64),
    /// Held open, so that its number is not given to another file, and to find it by when it was moved. Not for every one of very many.
    pub(super) held: Option<OwnedFd>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file, its text where that is kept, and its mode, user and group. The file itself may say something else by the time it is put
    /// back: while it loses its name, it has lost its mount already.
    File(Option<Vec<u8>>, (u32, u32, u32)),
    /// A folder, or something else that is moved rather than copied.
    Folder,
    /// A link, which nothing can be mounted over, and where it leads.
    Link(PathBuf),
}

/// What is in the place of a protected name now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Now {
    Same,
    Gone,
    Other,
}

/// A larger file is protected, and not put back.
pub(super) const MOST_KEPT: u64 = 1 << 20;

/// What is known to commands that run now. One that starts while another's is about to be put back must not take what it finds for what
/// was there.
static RUNNING: Mutex<Option<HashMap<PathBuf, Weak<Was>>>> = Mutex::new(None);

impl Known {
    /// What is at a path now; `None` when there is nothing.
    pub(super) fn at(path: &Path, hold: bool) -> Option<Self> {
        if !hold {
            let was = Arc::new(Was::at(path, None)?);
            return Some(Self { path: path.to_path_buf(), was, was_replaced: false });
        }
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let running = running.get_or_insert_default();
        if let Some(was) = running.get(path).and_then(Weak::upgrade) {
            let mut known = Self { path: path.to_path_buf(), was, was_replaced: false };
            known.was_replaced = known.now() == Now::Other;
            return Some(known);
        }
        let opened = open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok();
        let was = Arc::new(Was::at(path, opened)?);
        running.retain(|_, was| was.strong_count() > 0);
        running.insert(path.to_path_buf(), Arc::downgrade(&was));
        Some(Self { path: path.to_path_buf(), was, was_replaced: false })
    }

    pub(super) fn now(&self) -> Now {
        match statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(facts) if (facts.st_dev, facts.st_ino) == self.was.number => Now::Same,
            Err(Errno::NOENT | Errno::NOTDIR) => Now::Gone,
            // Whoever closed the folder above it may have replaced it, too.
            _ => Now::Other,
        }
    }
}

impl Was {
    fn at(path: &Path, held: Option<OwnedFd>) -> Option<Self> {
        let facts = match &held {
            Some(held) => fstat(held),
            None => statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW),
        };
        let facts = facts.ok()?;
        let kind = match facts.st_mode & libc::S_IFMT {
            libc::S_IFLNK => Kind::Link(fs::read_link(path).ok()?),
            libc::S_IFREG => {
                let text = held.as_ref().and_then(|_| text(path, &facts));
                Kind::File(text, (facts.st_mode & 0o7777, facts.st_uid, facts.st_gid))
            }
            _ => Kind::Folder,
        };
        Some(Self { kind, number: (facts.st_dev, facts.st_ino), held })
    }
}

/// What a file says, if it is still that file.
fn text(path: &Path, facts: &Stat) -> Option<Vec<u8>> {
    if u64::try_from(facts.st_size).ok()? > MOST_KEPT {
        return None;
    }
    let file = File::from(open(path, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok()?);
    let opened = fstat(&file).ok()?;
    let mut text = Vec::with_capacity(usize::try_from(facts.st_size).ok()? + 1);
    file.take(MOST_KEPT + 1).read_to_end(&mut text).ok()?;
    let is_it = (opened.st_dev, opened.st_ino) == (facts.st_dev, facts.st_ino);
    (is_it && text.len() as u64 <= MOST_KEPT).then_some(text)
}
