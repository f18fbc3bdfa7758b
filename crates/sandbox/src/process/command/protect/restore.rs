//! Undoing, when nothing of a command is left, what it did to the files that govern calls, or could have done.

use super::known::{Kind, Known, MOST_KEPT, Now};
use super::look::When;
use super::{Protected, Root};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, openat, readlinkat, renameat_with, statat, symlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt as _, fchown};
use std::path::{Path, PathBuf};
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
        if !self.end_watching() {
            self.look_again(None);
        }
        let mut opened = Vec::new();
        self.look_into_closed(&mut opened);
        let undone = self.undo(&mut opened);
        // What was closed to its owner is so again.
        for (folder, mode) in opened.into_iter().rev() {
            let _ = fs::set_permissions(own(&folder), Permissions::from_mode(mode));
        }
        self.roots.clear();
        undone
    }

    fn undo(&mut self, opened: &mut Opened) -> Vec<Undone> {
        let mut undone = Vec::new();
        let intruders = std::mem::take(&mut self.intruders);
        for path in &intruders {
            let why = match self.set_aside(path, opened) {
                Ok(Some(name)) => format!("it governs calls, and no command makes it; it was set aside as `{name}`"),
                Ok(None) if intruders.iter().any(|other| other != path && path.starts_with(other)) => continue,
                Ok(None) => "it governs calls, and no command makes it; it is gone".to_owned(),
                Err(cause) => format!("it governs calls, and no command makes it; look at it, it could not be set aside: {cause}"),
            };
            undone.push(Undone { path: path.clone(), why });
        }
        let known = std::mem::take(&mut self.known);
        for known in known.iter().filter(|known| known.was_replaced) {
            let why = match self.put_back(known, opened) {
                Ok(Some(done)) => format!("it governs calls, and was replaced while the command ran, which could change it then; {done}"),
                Ok(None) => "it governs calls, and was replaced while the command ran; it is as it was".to_owned(),
                Err(cause) => {
                    format!("it governs calls, and was replaced while the command ran; look at it, it could not be put back: {cause}")
                }
            };
            undone.push(Undone { path: known.path.clone(), why });
        }
        undone
    }

    /// Looks into folders that could not be looked into before, and those that come to light there.
    fn look_into_closed(&mut self, opened: &mut Opened) {
        let mut tried = BTreeSet::new();
        while let Some(folder) = self.closed.pop_first() {
            if tried.len() < MOST_CLOSED
                && tried.insert(folder.clone())
                && let Some(root) = self.root_of(&folder)
                && open_folder(&self.roots[root], &folder, opened).is_ok()
            {
                self.look(vec![(root, folder)], When::Later);
            }
        }
        self.is_complete &= tried.len() < MOST_CLOSED;
    }

    /// Gives whatever has a name another one, and says which; `None` when nothing has it.
    fn set_aside(&self, path: &Path, opened: &mut Opened) -> io::Result<Option<String>> {
        let (folder, name) = self.folder_of(path, opened)?;
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => {}
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(cause) => return Err(cause.into()),
        }
        let aside = fresh(name)?;
        renameat_with(&folder, name, &folder, &aside, RenameFlags::NOREPLACE)?;
        Ok(Some(aside))
    }

    /// Puts back what had a name, and says how; `None` when what has it now is no different.
    fn put_back(&self, known: &Known, opened: &mut Opened) -> io::Result<Option<String>> {
        let (folder, name) = self.folder_of(&known.path, opened)?;
        let now = known.now();
        if now == Now::Same || now == Now::Other && is_same(known, &folder, name) {
            return Ok(None);
        }
        let mut aside = self.set_aside(&known.path, opened)?;
        let mut done = self.make_again(known, &folder, name, opened);
        // Somebody may have made it anew in between.
        for _ in 0..TRIES {
            if !done.as_ref().is_err_and(|cause| cause.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
            aside = self.set_aside(&known.path, opened)?.or(aside);
            done = self.make_again(known, &folder, name, opened);
        }
        let aside = aside.map_or_else(|| "nothing was there".to_owned(), |aside| format!("what was there is `{aside}` now"));
        done.map_err(|cause| io::Error::other(format!("{cause} ({aside})")))?;
        Ok(Some(format!("it was put back, and {aside}")))
    }

    fn make_again(&self, known: &Known, folder: &OwnedFd, name: &str, opened: &mut Opened) -> io::Result<()> {
        match &known.was.kind {
            Kind::Link(target) => Ok(symlinkat(target, folder, name)?),
            Kind::File(Some(text), owner) => write_back(text, *owner, folder, name),
            Kind::File(None, _) => Err(io::Error::other("what it said was not kept")),
            Kind::Folder => self.move_back(known, folder, name, opened),
        }
    }

    /// A folder that was moved elsewhere in a place that is written comes back.
    fn move_back(&self, known: &Known, folder: &OwnedFd, name: &str, opened: &mut Opened) -> io::Result<()> {
        let lost = || io::Error::other("what was there is gone");
        let held = known.was.held.as_ref().ok_or_else(lost)?;
        let path = PathBuf::from(readlinkat(CWD, own(held), Vec::new())?.to_string_lossy().into_owned());
        let (from, old) = self.folder_of(&path, opened).map_err(|_| lost())?;
        let facts = (statat(&from, old, AtFlags::SYMLINK_NOFOLLOW)?, rustix::fs::fstat(held)?);
        if (facts.0.st_dev, facts.0.st_ino) != (facts.1.st_dev, facts.1.st_ino) {
            return Err(lost());
        }
        Ok(renameat_with(&from, old, folder, name, RenameFlags::NOREPLACE)?)
    }

    /// The folder that a name is in, opened step by step without following links, and the name.
    fn folder_of<'a>(&self, path: &'a Path, opened: &mut Opened) -> io::Result<(OwnedFd, &'a str)> {
        let root = self.root_of(path).ok_or_else(|| io::Error::other("it is outside"))?;
        let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Err(io::Error::other("it has no name"));
        };
        Ok((open_folder(&self.roots[root], above, opened)?, name))
    }
}

/// Folders that were closed to their owner, and the modes they had.
type Opened = Vec<(OwnedFd, u32)>;

/// Closed folders that are looked into for one command.
const MOST_CLOSED: usize = 10_000;

/// Opens a folder below a place. Whoever made it may have closed it, or one on the way, so it is opened up for its owner.
fn open_folder(root: &Root, folder: &Path, opened: &mut Opened) -> io::Result<OwnedFd> {
    let mut at = root.folder.try_clone()?;
    open_up(&at, opened)?;
    for part in folder.strip_prefix(&root.path).map_err(io::Error::other)?.iter() {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        at = openat(&at, part, flags, Mode::empty())?;
        open_up(&at, opened)?;
    }
    Ok(at)
}

fn open_up(folder: &OwnedFd, opened: &mut Opened) -> io::Result<()> {
    const OWNER: u32 = 0o700;
    let facts = rustix::fs::fstat(folder)?;
    let user = rustix::process::geteuid();
    if user.is_root() || facts.st_uid != user.as_raw() || facts.st_mode & OWNER == OWNER {
        return Ok(());
    }
    let mode = facts.st_mode & 0o7777;
    fs::set_permissions(own(folder), Permissions::from_mode(mode | OWNER))?;
    opened.push((folder.try_clone()?, mode));
    Ok(())
}

/// The path by which a descriptor can be opened or changed, whatever became of the path it was opened by.
fn own(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A name that governs nothing and that nobody could have taken before.
fn fresh(name: &str) -> io::Result<String> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("set-aside-{:016x}-{}", u64::from_ne_bytes(bytes), name.trim_start_matches('.')))
}

/// Whether what took a name says the same as what had it.
fn is_same(known: &Known, folder: &OwnedFd, name: &str) -> bool {
    match &known.was.kind {
        Kind::Link(target) => readlinkat(folder, name, Vec::new()).is_ok_and(|now| now.as_bytes() == target.as_os_str().as_encoded_bytes()),
        Kind::File(Some(text), _) => {
            // Another name of the same file could be written by the next command.
            let is_plain = |facts: Stat| FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink == 1;
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let now = openat(folder, name, flags, Mode::empty()).map(File::from);
            let mut said = Vec::new();
            now.is_ok_and(|now| {
                rustix::fs::fstat(&now).is_ok_and(is_plain) && now.take(MOST_KEPT + 1).read_to_end(&mut said).is_ok() && said == *text
            })
        }
        Kind::File(None, _) | Kind::Folder => false,
    }
}

/// Writes a file anew.
fn write_back(text: &[u8], (mode, user, group): (u32, u32, u32), folder: &OwnedFd, name: &str) -> io::Result<()> {
    let new = fresh(name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, &new, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(text)?;
    if rustix::process::geteuid().is_root() {
        fchown(&file, Some(user), Some(group))?;
    }
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(renameat_with(folder, &new, folder, name, RenameFlags::NOREPLACE)?)
}
