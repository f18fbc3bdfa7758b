//! Undoing, when nothing of a command is left, what it did to the files that govern calls, or could have done.

use super::Protected;
use super::path_node::Spot;
use super::protected_file::{Kind, Known, MOST_KEPT, Now};
use super::scan::When;
use super::writable_root::{open_up, own};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, openat, readlinkat, renameat_with,
    statat, symlinkat,
};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{PermissionsExt as _, fchown};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

static RESTORING: Mutex<()> = Mutex::new(());

/// How often something is put back that somebody else makes at the same time.
const TRIES: usize = 3;

/// Something that was undone, or that could not be.
#[derive(Debug)]
pub(in super::super) struct Undone {
    pub(in super::super) path: PathBuf,
    pub(in super::super) why: String,
}

impl Protected {
    /// Sets aside what came and puts back what was there before. Nothing is removed, because a person may have made it in the same moment.
    pub(in super::super) fn restore(&mut self) -> Vec<Undone> {
        if !self.has_work() {
            return Vec::new();
        }
        // Two that put the same thing back would set each other's aside.
        let _alone = RESTORING.lock().unwrap_or_else(PoisonError::into_inner);
        self.looked_into = Some(HashSet::new());
        if !self.end_watching() {
            self.looked_into = Some(HashSet::new());
            self.look_again(None);
        }
        self.look_into_closed();
        let undone = self.undo();
        self.roots.clear();
        undone
    }

    fn undo(&mut self) -> Vec<Undone> {
        let mut undone = Vec::new();
        let intruders = std::mem::take(&mut self.intruders);
        // Those above come first.
        for spot in &intruders {
            let why = match self.set_aside(spot) {
                Ok(Some(name)) => format!(
                    "it governs calls, and no command makes it; it was set aside as `{name}`"
                ),
                // It went with a folder above it.
                Ok(None) if intruders.iter().any(|other| spot.is_below(other)) => continue,
                Ok(None) => "it governs calls, and no command makes it; it is gone".to_owned(),
                Err(cause) => format!(
                    "it governs calls, and no command makes it; look at it, it could not be set aside: {cause}"
                ),
            };
            undone.push(Undone {
                path: self.path_of(spot),
                why,
            });
        }
        let known = std::mem::take(&mut self.known);
        for known in known.iter().filter(|known| known.was_replaced) {
            let why = match self.put_back(known) {
                Ok(Some(done)) => format!(
                    "it governs calls, and was replaced while the command ran, which could change it then; {done}"
                ),
                Ok(None) => {
                    "it governs calls, and was replaced while the command ran; it is as it was"
                        .to_owned()
                }
                Err(cause) => {
                    format!(
                        "it governs calls, and was replaced while the command ran; look at it, it could not be put back: {cause}"
                    )
                }
            };
            undone.push(Undone {
                path: known.path.clone(),
                why,
            });
        }
        undone
    }

    /// Looks into folders that could not be looked into before, and those that come to light there.
    fn look_into_closed(&mut self) {
        let mut tried = BTreeSet::new();
        while let Some(folder) = self.closed.pop_first() {
            if tried.len() >= MOST_CLOSED {
                self.is_complete = false;
                return;
            }
            if tried.insert(folder.clone()) {
                self.look(vec![folder], When::Later);
            }
        }
    }

    /// Gives whatever has a name another one, and says which; `None` when nothing has it.
    fn set_aside(&self, spot: &Spot) -> io::Result<Option<String>> {
        let folder = match self.folder_of(spot) {
            Err(cause) if is_gone(&cause) => return Ok(None),
            folder => folder?,
        };
        let _opened = open_up(&folder)?;
        match set_aside_in(&folder, spot.name()) {
            Err(cause) if is_gone(&cause) => Ok(None),
            aside => aside.map(Some),
        }
    }

    /// Puts back what had a name, and says how; `None` when what has it now is no different.
    fn put_back(&self, known: &Known) -> io::Result<Option<String>> {
        let (folder, name) = (self.folder_of(&known.spot)?, known.spot.name());
        let _opened = open_up(&folder)?;
        let now = known.now(&self.roots);
        if now == Now::Same || now == Now::Other && is_same(known, &folder, name) {
            return Ok(None);
        }
        let new = fresh(name)?;
        let put = self
            .make_again(known, &folder, OsStr::new(&new))
            .and_then(|()| change_places(&folder, &new, name));
        match put {
            Ok(true) => Ok(Some(format!("it was put back, and {}", is_now(new)))),
            Ok(false) => Ok(Some("it was put back, and nothing was there".to_owned())),
            // The command could have written what is there, so that does not stay.
            Err(cause) => {
                let aside = self
                    .set_aside(&known.spot)?
                    .map_or_else(|| "nothing was there".to_owned(), is_now);
                Err(io::Error::other(format!("{cause} ({aside})")))
            }
        }
    }

    /// Makes what was there under another name.
    fn make_again(&self, known: &Known, folder: &OwnedFd, new: &OsStr) -> io::Result<()> {
        match &known.was.kind {
            Kind::Link(target) => Ok(symlinkat(target, folder, new)?),
            Kind::File(Some(text), owner) => write(text, *owner, folder, new),
            Kind::File(None, _) => Err(io::Error::other("what it said was not kept")),
            Kind::Folder => self.move_back(known, folder, new),
        }
    }

    /// A folder that was moved elsewhere in a place that is written comes back.
    fn move_back(&self, known: &Known, folder: &OwnedFd, new: &OsStr) -> io::Result<()> {
        let lost = || io::Error::other("what was there is gone");
        let held = known.was.held.as_ref().ok_or_else(lost)?;
        let path_now = |file: &OwnedFd| {
            Ok::<_, Errno>(PathBuf::from(OsString::from_vec(
                readlinkat(CWD, own(file), Vec::new())?.into_bytes(),
            )))
        };
        // Where it is now, below where the place is now.
        let (path, place) = (
            path_now(held)?,
            path_now(&self.root_of(&known.spot).folder)?,
        );
        let below = path.strip_prefix(&place).map_err(|_| lost())?;
        let spot = below
            .iter()
            .fold(self.root_of(&known.spot).spot.clone(), |at, name| {
                at.child(name)
            });
        let (from, old) = (self.folder_of(&spot).map_err(|_| lost())?, spot.name());
        let _opened = open_up(&from)?;
        let facts = (
            statat(&from, old, AtFlags::SYMLINK_NOFOLLOW)?,
            rustix::fs::fstat(held)?,
        );
        if (facts.0.st_dev, facts.0.st_ino) != (facts.1.st_dev, facts.1.st_ino) {
            return Err(lost());
        }
        Ok(renameat_with(
            &from,
            old,
            folder,
            new,
            RenameFlags::NOREPLACE,
        )?)
    }

    /// The folder that a name is in.
    fn folder_of(&self, spot: &Spot) -> io::Result<OwnedFd> {
        let above = spot
            .above()
            .ok_or_else(|| io::Error::other("it is outside"))?;
        self.root_of(spot).find(above)
    }
}

/// Closed folders that are looked into for one command.
const MOST_CLOSED: usize = 10_000;

/// Whether nothing has a name any more: it is gone, or a folder above it is.
fn is_gone(cause: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(cause),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
    )
}

fn set_aside_in(folder: &OwnedFd, name: &OsStr) -> io::Result<String> {
    let aside = fresh(name)?;
    renameat_with(folder, name, folder, &aside, RenameFlags::NOREPLACE)?;
    Ok(aside)
}

/// A name that governs nothing and that nobody could have taken before.
fn fresh(name: &OsStr) -> io::Result<String> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    // As much of the old name as a name has room for.
    let name: String = name
        .to_string_lossy()
        .trim_start_matches('.')
        .chars()
        .take(50)
        .collect();
    Ok(format!(
        "set-aside-{:016x}-{name}",
        u64::from_ne_bytes(bytes)
    ))
}

/// Whether what took a name says the same as what had it.
fn is_same(known: &Known, folder: &OwnedFd, name: &OsStr) -> bool {
    match &known.was.kind {
        Kind::Link(target) => readlinkat(folder, name, Vec::new())
            .is_ok_and(|now| now.as_bytes() == target.as_os_str().as_encoded_bytes()),
        Kind::File(Some(text), _) => {
            // Another name of the same file could be written by the next command.
            let is_plain = |facts: Stat| {
                FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile
                    && facts.st_nlink == 1
            };
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let now = openat(folder, name, flags, Mode::empty()).map(File::from);
            let mut said = Vec::new();
            now.is_ok_and(|now| {
                rustix::fs::fstat(&now).is_ok_and(is_plain)
                    && now.take(MOST_KEPT + 1).read_to_end(&mut said).is_ok()
                    && said == *text
            })
        }
        Kind::File(None, _) | Kind::Folder => false,
    }
}

fn is_now(aside: String) -> String {
    format!("what was there is `{aside}` now")
}

/// Gives what was made the name it had, and whatever has that the other name, and says whether something had it. In one step: a command
/// that starts in between must find one or the other, or it would set aside what is put back as something that came.
fn change_places(folder: &OwnedFd, new: &str, name: &OsStr) -> io::Result<bool> {
    let change = |flags| renameat_with(folder, new, folder, name, flags);
    let mut tries = 0..TRIES;
    loop {
        match change(RenameFlags::EXCHANGE) {
            Err(Errno::NOENT) => {}
            changed => return Ok(changed.map(|()| true)?),
        }
        match change(RenameFlags::NOREPLACE) {
            // Somebody made it anew in between.
            Err(Errno::EXIST) if tries.next().is_some() => {}
            changed => return Ok(changed.map(|()| false)?),
        }
    }
}

/// Writes a file.
fn write(
    text: &[u8],
    (mode, user, group): (u32, u32, u32),
    folder: &OwnedFd,
    name: &OsStr,
) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(text)?;
    if rustix::process::geteuid().is_root() {
        fchown(&file, Some(user), Some(group))?;
    }
    file.set_permissions(Permissions::from_mode(mode))
}
