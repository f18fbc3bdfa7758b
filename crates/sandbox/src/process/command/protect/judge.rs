//! Judging what the helper asks about while a command runs.

use super::pointer;
use crate::file::{is_git_folder, is_protected};
use crate::git::{MOST_CONFIG_BYTES, objections};
use crate::process::command::helper::layout::{
    ASK_CONFIGURATION, ASK_FOLDER, ASK_POINTER, TELL_REFUSED,
};
use crate::process::command::{Denial, DenialLayer};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{MemfdFlags, memfd_create};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// Refusals that are explained.
const MOST_EXPLAINED: usize = 20;
/// Files that are watched for one command. More than that are refused.
const MOST_WATCHED: usize = 1000;

/// Judges the files of one command.
#[derive(Debug, Default)]
pub(in super::super) struct NameJudge {
    /// Files that lead Git somewhere, and configurations that the command may have open.
    watched: Vec<WatchedFile>,
    events: Option<File>,
    refused: BTreeSet<PathBuf>,
    /// Why configurations were refused.
    reasons: BTreeMap<PathBuf, String>,
}

#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    file: File,
    content: Content,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Pointer,
    Configuration,
}

/// The answer to a message of the helper.
#[derive(Debug)]
pub(in super::super) enum NameReply {
    /// There is none.
    None,
    Refused,
    /// It may go on, with these bytes where it asked about a configuration.
    Allowed(Option<OwnedFd>),
}

impl NameJudge {
    /// Handles a message: its kind, the path it is about, and the file.
    pub(in super::super) fn hear(&mut self, message: &[u8], file: Option<OwnedFd>) -> NameReply {
        let Some((&kind, path)) = message.split_first() else {
            return NameReply::None;
        };
        let path = PathBuf::from(OsStr::from_bytes(path));
        match (kind, file.map(File::from)) {
            (TELL_REFUSED, _) => {
                if self.refused.len() < MOST_EXPLAINED {
                    self.refused.insert(path);
                }
                NameReply::None
            }
            (ASK_POINTER, Some(file)) => match self.watch(path, file, Content::Pointer) {
                true => NameReply::Allowed(None),
                false => NameReply::Refused,
            },
            (ASK_CONFIGURATION, Some(file)) => self.judge_configuration(path, file),
            (ASK_FOLDER, _) => match self.governed_in(&path) {
                None => NameReply::Allowed(None),
                Some(reason) => {
                    self.reasons.insert(path, reason);
                    NameReply::Refused
                }
            },
            _ => NameReply::Refused,
        }
    }

    /// What in a folder must stay where it is, as a sentence. A folder that is too large to look
    /// through stays, too.
    fn governed_in(&self, folder: &Path) -> Option<String> {
        const MOST_ENTRIES: usize = 100_000;
        let mut folders = vec![folder.to_path_buf()];
        let mut seen = 0;
        while let Some(next) = folders.pop() {
            // A folder that only its owner reads may be the command's, who may be another user.
            for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
                seen += 1;
                if seen > MOST_ENTRIES {
                    return Some(format!(
                        "it has more than {MOST_ENTRIES} files, too many to look for protected ones"
                    ));
                }
                let (path, name) = (entry.path(), entry.file_name());
                let below = path.strip_prefix(folder.parent().unwrap_or(folder));
                let below = below.unwrap_or(&path).to_string_lossy().into_owned();
                if is_protected(&below) && !is_git_folder(&name.to_string_lossy()) {
                    return Some(format!("`{below}` in it decides what may be done here"));
                }
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_folder && !is_git_folder(&name.to_string_lossy()) {
                    folders.push(path);
                }
            }
        }
        None
    }

    fn judge_configuration(&mut self, path: PathBuf, mut file: File) -> NameReply {
        let Some(new) = read_all(&mut file) else {
            return NameReply::Refused;
        };
        let old = fs::read(&path).unwrap_or_default();
        // A configuration that is there already, in a folder that becomes a repository, is judged
        // as a whole, and may still be open.
        let is_there = is_same_file(&path, &file);
        let found = objections(if is_there { b"" } else { &old }, &new);
        // Git tells a submodule's repository where its files are.
        let is_module = path.to_string_lossy().contains("/.git/modules/");
        let mut found = found
            .iter()
            .filter(|objection| !(is_module && objection.name == "core.worktree"));
        if let Some(first) = found.next() {
            self.reasons.insert(path, first.to_string());
            return NameReply::Refused;
        }
        if is_there && has_hooks(&path) {
            return NameReply::Refused;
        }
        if is_there {
            return match self.watch(path, file, Content::Configuration) {
                true => NameReply::Allowed(None),
                false => NameReply::Refused,
            };
        }
        let copy = memfd_create("configuration", MemfdFlags::CLOEXEC).map(File::from);
        match copy.map(|mut copy| copy.write_all(&new).map(|()| copy)) {
            Ok(Ok(copy)) => NameReply::Allowed(Some(copy.into())),
            _ => NameReply::Refused,
        }
    }

    /// Watches a file from now on; returns whether that is possible.
    fn watch(&mut self, path: PathBuf, file: File, content: Content) -> bool {
        if self.watched.len() >= MOST_WATCHED {
            return false;
        }
        if self.events.is_none() {
            let new = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
            self.events = new.map(File::from).ok();
        }
        let Some(events) = &self.events else {
            return false;
        };
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        if inotify::add_watch(events, own, WatchFlags::MODIFY).is_err() {
            return false;
        }
        self.watched.push(WatchedFile {
            path,
            file,
            content,
        });
        true
    }

    /// Whether nothing must be looked at in the end.
    pub(in super::super) fn is_idle(&self) -> bool {
        self.watched.is_empty()
    }

    /// The descriptor that becomes readable when a watched file changes, once there is one.
    pub(in super::super) fn events(&self) -> Option<File> {
        self.events.as_ref()?.try_clone().ok()
    }

    /// Whether a watched file changed to something harmful, so that the command must end.
    pub(in super::super) fn is_broken(&self) -> bool {
        if let Some(events) = &self.events {
            let mut space = [MaybeUninit::uninit(); 4096];
            while matches!(rustix::io::read(events, &mut space), Ok((told, _)) if !told.is_empty())
            {
            }
        }
        self.watched.iter().any(|watched| !watched.is_harmless())
    }

    /// Removes what the command left that would lead Git astray, and returns what was refused or
    /// removed.
    pub(in super::super) fn finish(
        &mut self,
        project: &Path,
        reasons: &BTreeMap<PathBuf, String>,
    ) -> NameReport {
        let shown = |path: &Path| {
            let below = path.strip_prefix(project).unwrap_or(path);
            below.display().to_string()
        };
        let denial = |path: &Path, why: String| Denial {
            layer: DenialLayer::Files,
            what: shown(path),
            why,
        };
        let mut denials = Vec::new();
        for path in std::mem::take(&mut self.refused) {
            let why = match self.reasons.remove(&path) {
                Some(reason) => format!("{reason}, and only a person changes what runs programs"),
                None => match path.ancestors().find_map(|above| reasons.get(above)) {
                    Some(reason) => format!("{reason}, and only a person changes that"),
                    None => why(&path).to_owned(),
                },
            };
            denials.push(denial(&path, why));
        }
        let mut is_broken = false;
        for watched in std::mem::take(&mut self.watched) {
            if !watched.is_harmless() {
                is_broken = true;
                if is_same_file(&watched.path, &watched.file) {
                    let _ = fs::remove_file(&watched.path);
                }
                let why = "it led Git to settings that nobody judged; the harness removed it";
                denials.push(denial(&watched.path, why.into()));
            }
        }
        NameReport { denials, is_broken }
    }
}

/// What a command was refused.
#[derive(Debug)]
pub(in super::super) struct NameReport {
    pub(in super::super) denials: Vec<Denial>,
    /// Whether it got past the rules, and had to be undone.
    pub(in super::super) is_broken: bool,
}

/// Why a name is refused.
fn why(path: &Path) -> &'static str {
    let is_gits = path.components().any(|part| part.as_os_str() == ".git");
    let name = path.file_name().unwrap_or_default();
    if is_gits && (name == "config" || name == "config.worktree") {
        "Git's settings change only through Git, and only those that run no programs; a person changes the others"
    } else if is_gits {
        "it would make Git run programs, and only a person changes that"
    } else {
        "it decides what may be done here, and only a person changes it"
    }
}

/// Whether there are hooks beside a configuration, other than Git's samples.
fn has_hooks(configuration: &Path) -> bool {
    let hooks = configuration.with_file_name("hooks");
    let entries = fs::read_dir(hooks).into_iter().flatten();
    entries
        .flatten()
        .any(|entry| !entry.file_name().to_string_lossy().ends_with(".sample"))
}

impl WatchedFile {
    fn is_harmless(&self) -> bool {
        if self.file.metadata().is_ok_and(|facts| facts.nlink() == 0) {
            return true;
        }
        let mut text = vec![0; MOST_CONFIG_BYTES + 1];
        let Ok(count) = self.file.read_at(&mut text, 0) else {
            return false;
        };
        text.truncate(count);
        match self.content {
            _ if count > MOST_CONFIG_BYTES => false,
            Content::Pointer => pointer::is_harmless(&self.path, &text),
            Content::Configuration => objections(b"", &text).is_empty(),
        }
    }
}

/// Everything in a regular file that is not too large.
fn read_all(file: &mut File) -> Option<Vec<u8>> {
    let facts = file.metadata().ok()?;
    let most = MOST_CONFIG_BYTES as u64;
    if !facts.is_file() || facts.len() > most {
        return None;
    }
    file.rewind().ok()?;
    let mut text = Vec::new();
    file.take(most + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= most).then_some(text)
}

fn is_same_file(path: &Path, file: &File) -> bool {
    let (Ok(there), Ok(own)) = (fs::symlink_metadata(path), file.metadata()) else {
        return false;
    };
    (there.dev(), there.ino()) == (own.dev(), own.ino())
}
