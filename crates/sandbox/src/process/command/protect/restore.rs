//! Undoing what a command did, or could have done, to protected files, when none of its processes
//! is left.

use super::ProtectedFiles;
use super::path_node::PathNode;
use super::protected_file::{Current, MOST_KEPT, OriginalKind, ProtectedFile};
use super::scan::ScanPhase;
use super::writable_root::{own, unlock};
use crate::lock::lock;
use crate::process::command::warm::pool::ContainerPool;
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
use std::sync::Mutex;

static RESTORING: Mutex<()> = Mutex::new(());

/// How often to retry putting a file back while another process creates it.
const TRIES: usize = 3;

/// Something that was undone, or could not be.
#[derive(Debug)]
pub(in super::super) struct UndoReport {
    pub(in super::super) path: PathBuf,
    pub(in super::super) why: String,
}

impl ProtectedFiles {
    /// Sets aside new files and puts back replaced ones. Removes nothing, because a person may have
    /// created it at the same moment.
    pub(in super::super) fn restore(&mut self, pool: Option<&ContainerPool>) -> Vec<UndoReport> {
        if !self.has_roots() {
            return Vec::new();
        }
        // Two commands that put back the same file would set each other's aside.
        let _alone = lock(&RESTORING);
        self.scanned = Some(HashSet::new());
        if !self.stop_watching() {
            self.scanned = Some(HashSet::new());
            self.rescan(None);
        }
        self.scan_closed();
        self.check_aliases();
        let mut undone = self.check_submodules();
        if let Some(pool) = pool.filter(|_| self.is_broken()) {
            pool.clear();
        }
        undone.extend(self.undo());
        if !self.is_complete {
            undone.push(UndoReport {
                path: self.roots[0].path.clone(),
                why: "the command made more folders than are looked through for protected files; look at them".to_owned(),
            });
        }
        self.roots.clear();
        undone
    }

    fn undo(&mut self) -> Vec<UndoReport> {
        let mut undone = Vec::new();
        let intruders = std::mem::take(&mut self.intruders);
        // Those above come first.
        for node in &intruders {
            let why = match self.set_aside(node) {
                Ok(Some(name)) => format!(
                    "a command may not create this protected file; it was set aside as `{name}`"
                ),
                // It was moved with a folder above it.
                Ok(None) if intruders.iter().any(|other| node.is_below(other)) => continue,
                Ok(None) => {
                    "a command may not create this protected file; it is gone now".to_owned()
                }
                Err(cause) => format!(
                    "a command may not create this protected file, and it could not be set aside: {cause}; look at it"
                ),
            };
            undone.push(UndoReport {
                path: self.path_of(node),
                why,
            });
        }
        let existing = std::mem::take(&mut self.existing);
        for existing in existing.iter().filter(|existing| existing.was_replaced) {
            let why = match self.put_back(existing) {
                Ok(Some(done)) => format!(
                    "this protected file was replaced while the command ran, which could then change it; {done}"
                ),
                Ok(None) => {
                    "this protected file was replaced while the command ran; its content is the same"
                        .to_owned()
                }
                Err(cause) => {
                    format!(
                        "this protected file was replaced while the command ran, and it could not be put back: {cause}; look at it"
                    )
                }
            };
            undone.push(UndoReport {
                path: existing.path.clone(),
                why,
            });
        }
        undone
    }

    /// Looks at the missing files that must not be created, some of which are in folders that are
    /// not watched.
    fn check_aliases(&mut self) {
        for alias in self.aliases.clone() {
            if let Some(node) = self.node_of(&alias) {
                self.judge_name(&node, None);
            }
        }
    }

    /// Scans folders that could not be scanned before, and those found in them.
    fn scan_closed(&mut self) {
        let mut tried = BTreeSet::new();
        while let Some(folder) = self.closed.pop_first() {
            if tried.len() >= MOST_CLOSED {
                self.is_complete = false;
                return;
            }
            if tried.insert(folder.clone()) {
                self.scan(vec![folder], ScanPhase::Later);
            }
        }
    }

    /// Renames whatever has a protected name, and returns the new name; `None` if there is nothing.
    pub(super) fn set_aside(&self, node: &PathNode) -> io::Result<Option<String>> {
        let folder = match self.folder_of(node) {
            Err(cause) if is_gone(&cause) => return Ok(None),
            folder => folder?,
        };
        let _opened = unlock(&folder)?;
        let aside = fresh_name(node.name())?;
        let flags = RenameFlags::NOREPLACE;
        match renameat_with(&folder, node.name(), &folder, &aside, flags) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            renamed => Ok(renamed.map(|()| Some(aside))?),
        }
    }

    /// Puts back the original, and says how; `None` if the replacement is the same.
    fn put_back(&self, existing: &ProtectedFile) -> io::Result<Option<String>> {
        let (folder, name) = (self.folder_of(&existing.node)?, existing.node.name());
        let _opened = unlock(&folder)?;
        let now = existing.now(&self.roots);
        if now == Current::Same || now == Current::Other && is_same(existing, &folder, name) {
            return Ok(None);
        }
        let new = fresh_name(name)?;
        let put = self
            .make_again(existing, &folder, OsStr::new(&new))
            .and_then(|()| change_places(&folder, &new, name));
        match put {
            Ok(true) => Ok(Some(format!("it was put back; {}", is_now(new)))),
            Ok(false) => Ok(Some("it was put back; nothing was in its place".to_owned())),
            // The command could have written the replacement, so it must not stay.
            Err(cause) => {
                let aside = self
                    .set_aside(&existing.node)?
                    .map_or_else(|| "nothing was in its place".to_owned(), is_now);
                Err(io::Error::other(format!("{cause} ({aside})")))
            }
        }
    }

    /// Creates the original again under another name.
    fn make_again(
        &self,
        existing: &ProtectedFile,
        folder: &OwnedFd,
        new: &OsStr,
    ) -> io::Result<()> {
        match &existing.was.kind {
            OriginalKind::Link(target) => Ok(symlinkat(target, folder, new)?),
            OriginalKind::File(Some(text), owner) => write(text, *owner, folder, new),
            OriginalKind::File(None, _) => Err(io::Error::other("its content was not kept")),
            OriginalKind::Folder => self.move_back(existing, folder, new),
        }
    }

    /// Moves back a folder that was moved within a writable place.
    fn move_back(&self, existing: &ProtectedFile, folder: &OwnedFd, new: &OsStr) -> io::Result<()> {
        let lost = || io::Error::other("the original is gone");
        let held = existing.was.held.as_ref().ok_or_else(lost)?;
        let path_now = |file: &OwnedFd| {
            let path = readlinkat(CWD, own(file), Vec::new())?;
            Ok::<_, Errno>(PathBuf::from(OsString::from_vec(path.into_bytes())))
        };
        // Where it is now, below where the place is now.
        let root = self.root_of(&existing.node);
        let (path, place) = (path_now(held)?, path_now(&root.folder)?);
        let node = root
            .node
            .below(path.strip_prefix(&place).map_err(|_| lost())?);
        let (from, old) = (self.folder_of(&node).map_err(|_| lost())?, node.name());
        let _opened = unlock(&from)?;
        let there = statat(&from, old, AtFlags::SYMLINK_NOFOLLOW)?;
        let original = rustix::fs::fstat(held)?;
        if (there.st_dev, there.st_ino) != (original.st_dev, original.st_ino) {
            return Err(lost());
        }
        let flags = RenameFlags::NOREPLACE;
        Ok(renameat_with(&from, old, folder, new, flags)?)
    }

    /// The folder of a node.
    fn folder_of(&self, node: &PathNode) -> io::Result<OwnedFd> {
        let above = node
            .above()
            .ok_or_else(|| io::Error::other("it is a place itself"))?;
        self.root_of(node).find(above)
    }
}

/// Closed folders scanned for one command.
const MOST_CLOSED: usize = 10_000;

/// Whether nothing has the name any more: it is gone, or a folder above it is.
pub(super) fn is_gone(cause: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(cause),
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
    )
}

/// A name that is not protected and that no process could have taken before.
fn fresh_name(name: &OsStr) -> io::Result<String> {
    let mut bytes = [0_u8; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    // As much of the old name as fits.
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

/// Whether the replacement has the same content as the original.
fn is_same(existing: &ProtectedFile, folder: &OwnedFd, name: &OsStr) -> bool {
    match &existing.was.kind {
        OriginalKind::Link(target) => readlinkat(folder, name, Vec::new())
            .is_ok_and(|now| now.as_bytes() == target.as_os_str().as_encoded_bytes()),
        OriginalKind::File(Some(text), _) => {
            // The next command could write through another name of the same file.
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
        OriginalKind::File(None, _) | OriginalKind::Folder => false,
    }
}

fn is_now(aside: String) -> String {
    format!("what was in its place is now `{aside}`")
}

/// Gives the recreated file its old name, and whatever has that name the other one; returns whether
/// something had it. In one step: a command that starts in between must find one or the other, or
/// it would set aside what is put back.
fn change_places(folder: &OwnedFd, new: &str, name: &OsStr) -> io::Result<bool> {
    let change = |flags| renameat_with(folder, new, folder, name, flags);
    let mut tries = 0..TRIES;
    loop {
        match change(RenameFlags::EXCHANGE) {
            Err(Errno::NOENT) => {}
            changed => return Ok(changed.map(|()| true)?),
        }
        match change(RenameFlags::NOREPLACE) {
            // Another process created it in between.
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
