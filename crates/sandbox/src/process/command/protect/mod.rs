//! What a contained command must not change: the files that govern it, and what runs programs on a
//! person's behalf.
//!
//! The helper carries out every call of a command that makes or removes a name or opens a file for
//! writing (`helper/names`), and refuses what [`Protection`] lists and the one table of protected
//! names says, at any depth and whether it exists or not. So nothing is searched before a command
//! starts, and nothing must be undone after it. What only the content of a file tells, the harness
//! judges: [`NameJudge`].
//!
//! Where another program already supervises names, the kernel allows no second one. There, what
//! exists is mounted read-only instead ([`Protection::fixed`]).

mod guard;
mod judge;
mod pointer;

use crate::file::{is_git_folder, protected_everywhere, protected_pairs};
use crate::git::{AnswerCache, GitAnswer, PlaceKind};
use crate::plan::{Access, Plan};
pub(super) use guard::{CommandGuard, CommandResources};
pub(super) use judge::{NameJudge, NameReply};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Who carries out the calls of commands that make names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NameSupervision {
    /// The helper.
    Helper,
    /// The kernel, because another program supervises names already.
    None,
}

/// Files and folders that are looked at before a command, to find repositories.
const MOST_ENTRIES: usize = 20_000;

/// What a command of one plan must not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Protection {
    /// The places that it may write and others see.
    pub(super) roots: Vec<WritableRoot>,
    /// Paths that do not change, nor anything below them.
    pub(super) closed: Vec<PathBuf>,
    /// Paths that are not removed, renamed or replaced, but whose content may change.
    pub(super) pinned: Vec<PathBuf>,
    /// What is mounted read-only, because nobody supervises names.
    pub(super) fixed: Vec<PathBuf>,
    /// Why some of them are closed.
    pub(super) reasons: BTreeMap<PathBuf, String>,
    /// Whether every repository in the places was found.
    pub(super) is_complete: bool,
}

/// A place that a command may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WritableRoot {
    pub(super) path: PathBuf,
    /// The folder that protected names are relative to.
    pub(super) base: PathBuf,
}

impl Protection {
    /// What a plan's command must not change.
    pub(super) fn of(plan: &Plan, supervision: NameSupervision, answers: &AnswerCache) -> Self {
        let files = &plan.files;
        let own = match (files.access, files.only.is_empty()) {
            (Access::Write, true) => std::slice::from_ref(&files.workspace),
            (Access::Write, false) => &files.only[..],
            _ => &[],
        };
        let root = |path: &PathBuf| {
            let base = match path.starts_with(&files.project) {
                true => &files.project,
                false => path.parent().unwrap_or(path),
            };
            WritableRoot {
                path: path.clone(),
                base: base.to_path_buf(),
            }
        };
        let mut found = Self {
            roots: own.iter().chain(&files.writable).map(root).collect(),
            is_complete: true,
            ..Self::default()
        };
        if found.roots.is_empty() {
            return found;
        }
        let mut tops = vec![files.project.clone(), files.workspace.clone()];
        tops.extend(found.roots.iter().map(|root| root.path.clone()));
        tops.sort();
        tops.dedup();
        for top in &tops {
            let answer = answers.look(top, &files.git);
            found.add_git(&answer, supervision);
            found.add_gaps(&answer, supervision);
            found.add_names(top, supervision);
        }
        let mut left = MOST_ENTRIES;
        for root in found.roots.clone() {
            for git in found.repositories_in(&root.path, &mut left) {
                found.add_git(&answers.look_at(&git, &files.git), supervision);
            }
        }
        for list in [&mut found.closed, &mut found.pinned, &mut found.fixed] {
            list.sort();
            list.dedup();
        }
        found
    }

    /// The folders of repositories below a place: what their settings lead Git to has no name that
    /// tells. Their own hooks and settings do, so a look that is too long loses only the former.
    fn repositories_in(&mut self, place: &Path, left: &mut usize) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = VecDeque::from([place.to_path_buf()]);
        while let Some(folder) = folders.pop_front() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if *left == 0 {
                    self.is_complete = false;
                    return found;
                }
                *left -= 1;
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_git_folder(&entry.file_name().to_string_lossy()) {
                    if folder != place {
                        found.push(entry.path());
                    }
                } else if is_folder {
                    folders.push_back(entry.path());
                }
            }
        }
        found
    }

    /// Adds what Git obeys.
    fn add_git(&mut self, answer: &GitAnswer, supervision: NameSupervision) {
        for place in answer.places.iter().filter(|place| place.kind.governs()) {
            let list = match (place.kind, supervision) {
                (PlaceKind::Folder, _) => &mut self.pinned,
                (_, NameSupervision::None) => &mut self.fixed,
                // Their names say what they are, and the harness judges their content; working
                // trees come and go.
                (PlaceKind::Pointer, _) => continue,
                (PlaceKind::Config, _) if is_in_git(&place.path) => &mut self.pinned,
                _ => &mut self.closed,
            };
            list.push(place.path.clone());
            let reason = place.reason.to_string();
            self.reasons.entry(place.path.clone()).or_insert(reason);
            self.closed.extend(place.links.iter().cloned());
        }
    }

    /// Closes everything if something of the repository around the workspace could not be seen:
    /// that is not harmless. In a repository below it, Git refuses to work with settings it cannot
    /// read.
    fn add_gaps(&mut self, answer: &GitAnswer, supervision: NameSupervision) {
        for gap in &answer.gaps {
            for root in &self.roots {
                self.reasons.insert(root.path.clone(), gap.to_string());
                match supervision {
                    NameSupervision::None => self.fixed.push(root.path.clone()),
                    NameSupervision::Helper => self.closed.push(root.path.clone()),
                }
            }
        }
    }

    /// Adds the protected names at the top of a place: where they lead, if they are links, and
    /// themselves, if nobody supervises names.
    fn add_names(&mut self, top: &Path, supervision: NameSupervision) {
        let names = protected_everywhere()
            .map(str::to_owned)
            .chain(protected_pairs().map(|(outer, inner)| format!("{outer}/{inner}")));
        for path in names.map(|name| top.join(name)) {
            let (links, end) = follow(&path);
            if !links.is_empty() {
                self.closed.extend(links);
                self.closed.push(end);
            }
            let exists = fs::symlink_metadata(&path).is_ok();
            if supervision == NameSupervision::None && exists && !path.ends_with(".git") {
                self.fixed.push(path);
            }
        }
    }
}

/// The links on the way of a path, and where it leads, also if nothing is there.
fn follow(path: &Path) -> (Vec<PathBuf>, PathBuf) {
    const MOST_LINKS: usize = 40;
    let mut links = Vec::new();
    let mut real = PathBuf::new();
    let mut rest: VecDeque<OsString> = path.iter().map(OsStr::to_owned).collect();
    while let Some(part) = rest.pop_front() {
        match part.as_bytes() {
            b"." => continue,
            b".." => {
                real.pop();
                continue;
            }
            _ => real.push(&part),
        }
        let Ok(target) = fs::read_link(&real) else {
            continue;
        };
        if links.len() >= MOST_LINKS {
            break;
        }
        links.push(real.clone());
        real.pop();
        target
            .iter()
            .rev()
            .for_each(|part| rest.push_front(part.to_owned()));
    }
    (links, real)
}

fn is_in_git(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}
