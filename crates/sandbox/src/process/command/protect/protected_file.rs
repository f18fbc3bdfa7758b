//! One protected name that exists.

use super::path_node::Spot;
use super::writable_root::Root;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a protected name was when the command started.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) spot: Spot,
    /// Where that is.
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

/// What is known to commands that run now, by the number of its folder and its name. One that starts while another's is about to be put
/// back must not take what it finds for what was there.
static RUNNING: Mutex<Option<HashMap<Id, Weak<Was>>>> = Mutex::new(None);
type Id = ((u64, u64), OsString);

/// Whether a name is held open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// To find it by when it was moved.
    Yes,
    /// There are very many.
    No,
}

impl Known {
    /// What has a name now; `None` when nothing has.
    pub(super) fn at(roots: &[Root], spot: Spot, hold: Hold) -> Option<Self> {
        let root = roots.get(spot.root())?;
        let path = spot.path(&root.path);
        let folder = spot
            .above()
            .map(|above| root.find(above))
            .transpose()
            .ok()?;
        // A place has no folder above it that is open.
        let (folder, name) = folder.as_ref().map_or((CWD, path.as_os_str()), |folder| {
            (folder.as_fd(), spot.name())
        });
        if hold == Hold::No {
            let was = Arc::new(Was::at(folder, name, None)?);
            return Some(Self {
                spot,
                path,
                was,
                was_replaced: false,
            });
        }
        let facts = statat(folder, c".", AtFlags::empty()).ok()?;
        let id = ((facts.st_dev, facts.st_ino), name.to_owned());
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let running = running.get_or_insert_default();
        if let Some(was) = running.get(&id).and_then(Weak::upgrade) {
            let mut known = Self {
                spot,
                path,
                was,
                was_replaced: false,
            };
            known.was_replaced = known.now(roots) == Now::Other;
            return Some(known);
        }
        let held = openat(
            folder,
            name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok();
        let was = Arc::new(Was::at(folder, name, held)?);
        running.retain(|_, was| was.strong_count() > 0);
        running.insert(id, Arc::downgrade(&was));
        Some(Self {
            spot,
            path,
            was,
            was_replaced: false,
        })
    }

    pub(super) fn now(&self, roots: &[Root]) -> Now {
        let facts = match (self.spot.above(), roots.get(self.spot.root())) {
            (Some(above), Some(root)) => root.find(above).and_then(|folder| {
                Ok(statat(folder, self.spot.name(), AtFlags::SYMLINK_NOFOLLOW)?)
            }),
            _ => statat(CWD, &self.path, AtFlags::SYMLINK_NOFOLLOW).map_err(io::Error::from),
        };
        match facts {
            Ok(facts) if (facts.st_dev, facts.st_ino) == self.was.number => Now::Same,
            Err(cause)
                if matches!(
                    Errno::from_io_error(&cause),
                    Some(Errno::NOENT | Errno::NOTDIR)
                ) =>
            {
                Now::Gone
            }
            // Whoever closed the folder above it may have replaced it, too.
            _ => Now::Other,
        }
    }

    /// Looks whether it is still what it was.
    pub(super) fn check(&mut self, roots: &[Root], is_by_file: bool) {
        let is_link = matches!(self.was.kind, Kind::Link(_));
        self.was_replaced |= match self.now(roots) {
            Now::Same => false,
            // A link can be removed by the command; anything else only by somebody outside, who may.
            Now::Gone => is_link,
            Now::Other => is_link || !is_by_file,
        };
    }
}

impl Was {
    fn at(folder: BorrowedFd<'_>, name: &OsStr, held: Option<OwnedFd>) -> Option<Self> {
        let facts = match &held {
            Some(held) => fstat(held),
            None => statat(folder, name, AtFlags::SYMLINK_NOFOLLOW),
        };
        let facts = facts.ok()?;
        let kind = match facts.st_mode & libc::S_IFMT {
            libc::S_IFLNK => Kind::Link(
                OsString::from_vec(readlinkat(folder, name, Vec::new()).ok()?.into_bytes()).into(),
            ),
            libc::S_IFREG => {
                let text = held.as_ref().and_then(|_| text(folder, name, &facts));
                Kind::File(text, (facts.st_mode & 0o7777, facts.st_uid, facts.st_gid))
            }
            _ => Kind::Folder,
        };
        Some(Self {
            kind,
            number: (facts.st_dev, facts.st_ino),
            held,
        })
    }
}

/// What a file says, if it is still that file.
fn text(folder: BorrowedFd<'_>, name: &OsStr, facts: &Stat) -> Option<Vec<u8>> {
    if u64::try_from(facts.st_size).ok()? > MOST_KEPT {
        return None;
    }
    let file = File::from(
        openat(
            folder,
            name,
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()?,
    );
    let opened = fstat(&file).ok()?;
    let mut text = Vec::with_capacity(usize::try_from(facts.st_size).ok()? + 1);
    file.take(MOST_KEPT + 1).read_to_end(&mut text).ok()?;
    let is_it = (opened.st_dev, opened.st_ino) == (facts.st_dev, facts.st_ino);
    (is_it && text.len() as u64 <= MOST_KEPT).then_some(text)
}
