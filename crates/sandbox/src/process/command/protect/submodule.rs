//! Submodules where nobody looks.
//!
//! Some folders are too large to be looked through, such as `node_modules`. A repository there does
//! nothing until the index of another one has an entry for its folder: then Git runs in it. So the
//! entries are looked at when a command has ended, and a repository that the command made or changed
//! so that it runs programs is set aside.

use super::ProtectedFiles;
use super::path_node::PathNode;
use super::restore::UndoReport;
use super::scan::ScanPhase;
use crate::file::GIT_FOLDER;
use crate::git::{
    Config, GitAnswer, Gitlinks, ObjectFormat, PersonalConfig, PlaceKind, Stamp, look_at,
    objections,
};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A larger index is read only if the command changed it.
const MOST_UNCHANGED_BYTES: u64 = 4 << 20;

/// The index of a repository, as it was when the command started.
#[derive(Debug)]
pub(super) struct IndexWatch {
    path: PathBuf,
    tops: Vec<PathBuf>,
    format: ObjectFormat,
    stamp: Option<Stamp>,
    /// Its submodules; `None` if it was too large to be read.
    before: Option<Arc<Gitlinks>>,
}

/// A time before which no process of the command ran, since 1970. The kernel stamps files with a
/// clock that is late.
pub(super) fn now() -> Duration {
    const LATE: Duration = Duration::from_millis(20);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().saturating_sub(LATE)
}

impl ProtectedFiles {
    /// Remembers the indexes of repositories.
    pub(super) fn watch_indexes(&mut self, answer: &GitAnswer) {
        if !self.holds {
            return;
        }
        for repository in &answer.repositories {
            let path = repository.git_folder.join("index");
            let overlaps = |top: &&PathBuf| {
                let mut roots = self.roots.iter();
                roots.any(|root| root.path.starts_with(top) || top.starts_with(&root.path))
            };
            let tops: Vec<PathBuf> = repository.tops.iter().filter(overlaps).cloned().collect();
            if tops.is_empty() || self.indexes.iter().any(|watch| watch.path == path) {
                continue;
            }
            let stamp = Stamp::of(&path);
            self.indexes.push(IndexWatch {
                before: self.links_if_cheap(&path, repository.format, stamp),
                stamp,
                tops,
                format: repository.format,
                path,
            });
        }
    }

    fn links_if_cheap(
        &self,
        index: &Path,
        format: ObjectFormat,
        stamp: Option<Stamp>,
    ) -> Option<Arc<Gitlinks>> {
        let Some(stamp) = stamp else {
            return Some(Arc::default());
        };
        if stamp.bytes() <= MOST_UNCHANGED_BYTES {
            return Some(self.answers.gitlinks(index, format));
        }
        self.answers.known_gitlinks(index, &stamp)
    }

    /// Finds repositories that the command made, or made to run programs, in folders that nobody
    /// looks through and that an index refers to.
    pub(super) fn check_submodules(&mut self) -> Vec<UndoReport> {
        let mut undone = Vec::new();
        for watch in std::mem::take(&mut self.indexes) {
            let Some(stamp) = Stamp::of(&watch.path) else {
                continue;
            };
            let is_changed = watch
                .stamp
                .is_none_or(|then| then != stamp || !then.was_settled);
            let links = if is_changed {
                Some(self.answers.gitlinks(&watch.path, watch.format))
            } else {
                watch.before.clone()
            };
            let (Some(links), before) = (links, watch.before.unwrap_or_default()) else {
                continue;
            };
            for path in &links.paths {
                let is_new = !before.paths.contains(path);
                let way = Path::new(OsStr::from_bytes(path));
                for top in &watch.tops {
                    self.check_submodule(&top.join(way), is_new);
                }
            }
            let gap = links.gap.as_ref().filter(|_| before.gap.is_none());
            undone.extend(gap.map(|gap| self.set_index_aside(&watch.path, gap)));
        }
        undone
    }

    /// Judges the repository in the folder of a submodule.
    fn check_submodule(&mut self, folder: &Path, is_new: bool) {
        let Some(node) = self.node_of(folder) else {
            return;
        };
        let dot_git = node.child(OsStr::new(GIT_FOLDER));
        let path = self.path_of(&dot_git);
        if self.is_looked_through(&node)
            || self.is_known(&dot_git)
            || path.symlink_metadata().is_err()
        {
            return;
        }
        if self.runs_programs(&path, is_new) {
            self.intruders.insert(dot_git);
        }
    }

    fn is_looked_through(&self, folder: &PathNode) -> bool {
        std::iter::successors(Some(folder), |node| node.above())
            .filter(|node| node.above().is_some())
            .all(|node| self.is_scanned(node, ScanPhase::Later))
    }

    /// Whether a repository runs programs because of what the command did: because it wrote that, or
    /// because it made Git look there.
    fn runs_programs(&self, dot_git: &Path, is_new: bool) -> bool {
        // The person's own settings are not the command's.
        let person = PersonalConfig {
            home: self.person.home.clone(),
            files: Vec::new(),
        };
        let answer = look_at(dot_git, &person);
        let is_done = |path: &Path| {
            is_new || Stamp::of(path).is_some_and(|stamp| stamp.changed_since(self.began))
        };
        let is_open = |path: &Path| self.node_of(path).is_some_and(|node| !self.is_known(&node));
        let mut places = answer.places.iter();
        !answer.is_complete()
            || places.any(|place| {
                is_open(&place.path)
                    && match place.kind {
                        PlaceKind::Config => is_done(&place.path) && is_harmful(&place.path),
                        PlaceKind::Hooks => {
                            programs_in(&place.path).iter().any(|path| is_done(path))
                        }
                        _ => false,
                    }
            })
    }

    /// Sets aside an index that the command wrote and that cannot be read.
    fn set_index_aside(&self, index: &Path, gap: &str) -> UndoReport {
        let node = self.node_of(index);
        let aside = node.map_or(Ok(None), |node| self.set_aside(&node));
        let done = match aside {
            Ok(Some(name)) => {
                format!("it was set aside as `{name}`; `git reset` makes a new one")
            }
            Ok(None) => "look at it before you run Git".to_owned(),
            Err(cause) => {
                format!("it could not be set aside: {cause}; look at it before you run Git")
            }
        };
        UndoReport {
            path: index.to_path_buf(),
            why: format!(
                "the command changed this index so that its submodules are not known ({gap}); {done}"
            ),
        }
    }
}

/// Whether a configuration makes Git run programs or leads it elsewhere. What cannot be read may.
fn is_harmful(config: &Path) -> bool {
    match fs::read(config) {
        Err(cause) => cause.kind() != io::ErrorKind::NotFound,
        Ok(text) => Config::read(&text).broken.is_some() || !objections(b"", &text).is_empty(),
    }
}

/// The programs in a folder of hooks.
fn programs_in(hooks: &Path) -> Vec<PathBuf> {
    let is_program = |path: &PathBuf| {
        path.metadata()
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    let entries = fs::read_dir(hooks).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .chain([hooks.to_path_buf()])
        .filter(|path| path.extension() != Some(OsStr::new("sample")))
        .filter(is_program)
        .collect()
}
