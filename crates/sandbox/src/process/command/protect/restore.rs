//! Undoing, when nothing of a command is left, what it did to the files that govern calls, or could have done.

use super::known::{Kind, Known, Now};
use super::look::When;
use super::{Protected, Root};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, openat, readlinkat, renameat_with, statat, symlinkat};
use rustix::io::Errno;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

/// Something that was undone, or that could not be.
#[derive(Debug)]
pub(in super::super) struct Undone {
    pub(in super::super) path: PathBuf,
    pub(in super::super) why: String,
}

impl Protected {
    /// Sets aside what came and puts back what was there before. Nothing is removed, because a person may have made it in the same moment.
    pub(in super::super) fn restore(&mut self) -> Vec<Undone> {
        if self.roots.is_empty() {
            return Vec::new();
        }
        if !self.end_watching() {
            self.look_again(None);
        }
        self.look_into_closed();
        let mut undone = Vec::new();
        let intruders = std::mem::take(&mut self.intruders);
        for path in &intruders {
            let why = match self.set_aside(path) {
                Ok(Some(name)) => format!("it governs calls, and no command makes it; it was set aside as `{name}`"),
                Ok(None) if intruders.iter().any(|other| other != path && path.starts_with(other)) => continue,
                Ok(None) => "it governs calls, and no command makes it; it is gone".to_owned(),
                Err(cause) => format!("it governs calls, and no command makes it; look at it, it could not be set aside: {cause}"),
            };
            undone.push(Undone { path: path.clone(), why });
        }
        let known = std::mem::take(&mut self.known);
        for known in known.iter().filter(|known| known.was_replaced) {
            let why = match self.put_back(known) {
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

    /// Looks into folders that could not be looked into before. They are as they were afterwards.
    fn look_into_closed(&mut self) {
        let closed = std::mem::take(&mut self.closed);
        for folder in &closed {
            if folder.parent().is_some_and(|above| closed.iter().any(|other| above.starts_with(other))) {
                continue;
            }
            let Some(root) = self.root_of(folder) else { continue };
            let Ok(opened) = open_folder(&self.roots[root], folder) else { continue };
            self.look(vec![(root, folder.clone())], When::Later);
            if let Some(mode) = opened.closed {
                let _ = fs::set_permissions(own(&opened.folder), Permissions::from_mode(mode));
            }
        }
        self.closed.clear();
    }

    /// Gives whatever has a name another one, and says which; `None` when nothing has it.
    fn set_aside(&self, path: &Path) -> io::Result<Option<String>> {
        let (folder, name) = self.folder_of(path)?;
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
    fn put_back(&self, known: &Known) -> io::Result<Option<String>> {
        let (folder, name) = self.folder_of(&known.path)?;
        let now = known.now();
        if now == Now::Same || now == Now::Other && is_same(known, &folder, name) {
            return Ok(None);
        }
        let aside = self.set_aside(&known.path)?;
        let done = match &known.kind {
            Kind::Link(target) => symlinkat(target, &folder, name).map_err(io::Error::from),
            Kind::File => copy_back(known, &folder, name),
            Kind::Folder => self.move_back(known, &folder, name),
        };
        let aside = aside.map_or_else(|| "nothing was there".to_owned(), |aside| format!("what was there is `{aside}` now"));
        done.map_err(|cause| io::Error::other(format!("{cause} ({aside})")))?;
        Ok(Some(format!("it was put back, and {aside}")))
    }

    /// A folder that was moved elsewhere in a place that is written comes back.
    fn move_back(&self, known: &Known, folder: &OwnedFd, name: &str) -> io::Result<()> {
        let lost = || io::Error::other("the folder that was there is gone");
        let held = known.held.as_ref().ok_or_else(lost)?;
        let path = PathBuf::from(readlinkat(CWD, own(held), Vec::new())?.to_string_lossy().into_owned());
        let (from, old) = self.folder_of(&path).map_err(|_| lost())?;
        let facts = (statat(&from, old, AtFlags::SYMLINK_NOFOLLOW)?, rustix::fs::fstat(held)?);
        if (facts.0.st_dev, facts.0.st_ino) != (facts.1.st_dev, facts.1.st_ino) {
            return Err(lost());
        }
        Ok(renameat_with(&from, old, folder, name, RenameFlags::NOREPLACE)?)
    }

    /// The folder that a name is in, opened step by step without following links, and the name.
    fn folder_of<'a>(&self, path: &'a Path) -> io::Result<(OwnedFd, &'a str)> {
        let root = self.root_of(path).ok_or_else(|| io::Error::other("it is outside"))?;
        let (Some(above), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
            return Err(io::Error::other("it has no name"));
        };
        Ok((open_folder(&self.roots[root], above)?.folder, name))
    }
}

struct Opened {
    folder: OwnedFd,
    /// The mode it had, when it was closed to its owner.
    closed: Option<u32>,
}

/// Opens a folder below a place. Whoever made it may have closed it, or one on the way, so it is opened up for its owner.
fn open_folder(root: &Root, folder: &Path) -> io::Result<Opened> {
    let mut opened = Opened { folder: root.folder.try_clone()?, closed: None };
    opened.closed = open_up(&opened.folder)?;
    for part in folder.strip_prefix(&root.path).map_err(io::Error::other)?.iter() {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        opened.folder = openat(&opened.folder, part, flags, Mode::empty())?;
        opened.closed = open_up(&opened.folder)?;
    }
    Ok(opened)
}

fn open_up(folder: &OwnedFd) -> io::Result<Option<u32>> {
    const OWNER: u32 = 0o700;
    let facts = rustix::fs::fstat(folder)?;
    let user = rustix::process::geteuid();
    if user.is_root() || facts.st_uid != user.as_raw() || facts.st_mode & OWNER == OWNER {
        return Ok(None);
    }
    let mode = facts.st_mode & 0o7777;
    fs::set_permissions(own(folder), Permissions::from_mode(mode | OWNER))?;
    Ok(Some(mode))
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
    let text = |file: io::Result<File>| -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        file?.read_to_end(&mut text)?;
        Ok(text)
    };
    match (&known.kind, &known.held) {
        (Kind::Link(target), _) => {
            readlinkat(folder, name, Vec::new()).is_ok_and(|now| now.as_bytes() == target.as_os_str().as_encoded_bytes())
        }
        (Kind::File, Some(held)) => {
            let facts = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
            // Another name of the same file could be written by the next command.
            let is_plain = facts.is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink == 1);
            let now = openat(folder, name, OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty());
            let (now, before) = (text(now.map(File::from).map_err(Into::into)), text(File::open(own(held))));
            is_plain && matches!((now, before), (Ok(now), Ok(before)) if now == before)
        }
        _ => false,
    }
}

/// Writes a file anew out of what is held of it.
fn copy_back(known: &Known, folder: &OwnedFd, name: &str) -> io::Result<()> {
    let held = known.held.as_ref().ok_or_else(|| io::Error::other("its content was not kept"))?;
    let mut before = File::open(own(held))?;
    let facts = before.metadata()?;
    let new = fresh(name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(folder, &new, flags, Mode::RUSR | Mode::WUSR)?);
    io::copy(&mut before, &mut file)?;
    if rustix::process::geteuid().is_root() {
        fchown(&file, Some(facts.uid()), Some(facts.gid()))?;
    }
    file.set_permissions(Permissions::from_mode(facts.mode() & 0o7777))?;
    Ok(renameat_with(folder, &new, folder, name, RenameFlags::NOREPLACE)?)
}
