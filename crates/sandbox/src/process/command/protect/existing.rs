//! What governs and exists when a command starts, found by name: no budget limits it.

use super::ProtectedFiles;
use super::path_node::PathNode;
use super::protected_file::{KeepOpen, OriginalKind, ProtectedFile};
use super::writable_root::ScanDepth;
use crate::file::{GIT_FOLDER, git_names, is_git_folder, protected_paths, protected_rests};
use crate::git::{GitAnswer, GitGap, PlaceKind};
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Protected files kept open for one command.
const MOST_HELD: usize = 32;
/// The kernel cannot mount over a longer path.
pub(super) const LONGEST_PATH: usize = 4096;

impl ProtectedFiles {
    /// Protects the names at the top of each place and of the project, and everything that Git
    /// obeys there.
    pub(super) fn protect_known(&mut self, project: &Path) {
        let tops: Vec<PathBuf> = self.roots.iter().map(|root| root.path.clone()).collect();
        for top in tops {
            let answer = self.answers.look(&top, &self.person);
            self.obey(&answer);
        }
        for place in self.places() {
            if place.is_protected() {
                self.remember(place);
                continue;
            }
            let top = self.path_of(&place);
            self.protect_names(&top);
        }
        // The project's own names may be links into a writable place, although they are not in one.
        if !self.roots.iter().any(|root| root.path == project) {
            self.protect_names(project);
        }
    }

    fn protect_names(&mut self, top: &Path) {
        for name in protected_paths().chain([GIT_FOLDER.to_owned()]) {
            self.follow_links(&top.join(name));
        }
    }

    /// Protects what Git obeys.
    fn obey(&mut self, answer: &GitAnswer) {
        let leads_on = |kind: PlaceKind| matches!(kind, PlaceKind::Folder | PlaceKind::Pointer);
        let met = answer.places.iter().filter(|place| leads_on(place.kind));
        self.looked.extend(met.map(|place| place.path.clone()));
        for place in answer.places.iter().filter(|place| place.kind.governs()) {
            self.remember_ways(&place.links);
            self.remember_end(&place.path, Some(place.kind));
        }
        for gap in &answer.gaps {
            if !self.git_gaps.contains(gap) {
                self.git_gaps.push(gap.clone());
            }
        }
        self.watch_indexes(answer);
    }

    /// Protects what Git obeys in a repository that was found in a place.
    fn look_at(&mut self, git: &Path) {
        if self.looked.insert(git.to_path_buf()) {
            let answer = self.answers.look_at(git, &self.person);
            self.obey(&answer);
        }
    }

    pub(super) fn remember_if_protected(&mut self, node: &PathNode, kind: FileType) {
        if node.is_protected() {
            self.remember(node.clone());
        } else if kind == FileType::Symlink {
            // A link may stand for the first part of a protected name.
            let path = self.path_of(node);
            protected_rests(&node.name().to_string_lossy())
                .for_each(|rest| self.follow_links(&path.join(rest)));
        }
    }

    /// Remembers a protected file that exists.
    fn remember(&mut self, node: PathNode) {
        if self.is_known(&node) {
            return;
        }
        let Some(existing) = ProtectedFile::at(&self.roots, node, self.hold()) else {
            return;
        };
        let path = existing.path.clone();
        if path.as_os_str().len() >= LONGEST_PATH {
            let why = "holds a protected file at a path that is too long";
            return self.close(existing.node, why);
        }
        let is_dot_git = is_git_folder(&existing.node.name().to_string_lossy());
        match &existing.was.kind {
            OriginalKind::Link(_) => return self.follow_links(&path),
            OriginalKind::Folder if is_dot_git => self.pinned.push(path.clone()),
            OriginalKind::File(..) | OriginalKind::Folder => self.fixed.push(path.clone()),
        }
        self.existing.push(existing);
        if is_dot_git {
            self.look_at(&path);
        }
    }

    /// Remembers a folder of Git's: its name is protected, and the names in it that Git obeys.
    fn remember_git_folder(&mut self, node: PathNode) {
        if is_git_folder(&node.name().to_string_lossy()) {
            return self.remember(node);
        }
        // The table protects the names in it.
        if node.is_of_git() {
            return;
        }
        if !self.is_known(&node)
            && let Some(existing) = ProtectedFile::at(&self.roots, node.clone(), self.hold())
        {
            self.pinned.push(existing.path.clone());
            self.existing.push(existing);
        }
        self.remember_parts(&node);
    }

    /// Remembers what is protected in a folder of Git's that has another name.
    pub(super) fn remember_parts(&mut self, folder: &PathNode) {
        if self.bare.insert(folder.clone()) {
            git_names().for_each(|name| self.remember(folder.child(OsStr::new(name))));
            self.look_at(&self.path_of(folder));
        }
    }

    fn hold(&self) -> KeepOpen {
        if self.holds && self.existing.len() < MOST_HELD {
            KeepOpen::Yes
        } else {
            KeepOpen::No
        }
    }

    /// Remembers every link on the way of a path, and its target.
    fn follow_links(&mut self, path: &Path) {
        let resolved = self.links.resolve(path);
        self.remember_ways(&resolved.links);
        if let Some(end) = resolved.end {
            self.remember_end(&end, None);
        }
    }

    fn remember_ways(&mut self, links: &[PathBuf]) {
        for link in links {
            let Some(node) = self.node_of(link) else {
                continue;
            };
            if let Some(above) = node.above().cloned() {
                self.watch_at(&above);
            }
            if !self.is_known(&node)
                && let Some(existing) = ProtectedFile::at(&self.roots, node, self.hold())
            {
                self.existing.push(existing);
                self.ways
                    .push(link.parent().map(Path::to_path_buf).unwrap_or_default());
            }
        }
    }

    /// Remembers what a path without links leads to: something that exists, or must not be created.
    /// `kind` is what Git says that it is.
    fn remember_end(&mut self, end: &Path, kind: Option<PlaceKind>) {
        let is_inside = |root: &&super::WritableRoot| root.path.starts_with(end);
        let inside: Vec<PathNode> = self
            .roots
            .iter()
            .filter(is_inside)
            .map(|root| root.node.clone())
            .collect();
        if !inside.is_empty() {
            // A link to a folder around a place protects nothing: people have such links.
            if kind.is_some_and(PlaceKind::covers_tree) {
                let why = "is in a folder that Git obeys";
                inside.into_iter().for_each(|node| self.close(node, why));
            }
            return;
        }
        let Some(node) = self.node_of(end) else {
            return;
        };
        if end.symlink_metadata().is_ok() {
            match kind {
                Some(PlaceKind::Folder) => self.remember_git_folder(node),
                _ => self.remember(node),
            }
            return;
        }
        // The table protects the missing names that it knows, where the harness looks for them.
        let is_in_table = node.is_protected()
            && (kind.is_none() || node.above().is_some_and(PathNode::is_of_git));
        if is_in_table {
            return;
        }
        let there = end
            .ancestors()
            .skip(1)
            .find(|above| above.is_dir())
            .and_then(|above| self.node_of(above));
        there.into_iter().for_each(|above| self.watch_at(&above));
        if !self.aliases.iter().any(|alias| alias == end) {
            self.alias_names
                .extend(end.file_name().map(OsStr::to_owned));
            self.aliases.push(end.to_path_buf());
        }
    }

    /// Makes a folder read-only, because what is in it is not known; of a very deep one, a folder
    /// above it, because every folder on the way needs a mount.
    pub(super) fn close(&mut self, folder: PathNode, why: &str) {
        const DEEPEST: usize = 32;
        let is_near = |node: &&PathNode| {
            node.depth() <= DEEPEST && self.path_of(node).as_os_str().len() < LONGEST_PATH
        };
        let mut above = std::iter::successors(Some(&folder), |node| node.above());
        let Some(node) = above.find(is_near) else {
            return;
        };
        let path = self.path_of(node);
        if !self.fixed.contains(&path) {
            self.notes.push(format!(
                "`{}` is read-only for this command: it {why}",
                path.display()
            ));
            self.fixed.push(path);
        }
    }

    /// What was not seen of Git's settings could lead Git to any file, so nothing can be written.
    pub(super) fn close_for_gaps(&mut self) {
        let Some(gap) = self.git_gaps.first().map(GitGap::to_string) else {
            return;
        };
        self.notes.push(format!(
            "everything is read-only for this command: {gap}, so it is not known which files Git obeys; a person can fix that"
        ));
        self.pinned.clear();
        let roots = self.roots.iter().map(|root| root.path.clone());
        self.fixed.extend(roots);
    }

    /// Makes folders read-only that were not looked through: a governed file may be in them.
    pub(super) fn close_unread(&mut self, unread: Vec<PathNode>) {
        /// Each is a mount.
        const MOST_FOLDERS: usize = 100;
        let mut folders: BTreeSet<PathNode> = unread.into_iter().collect();
        let count = folders.len();
        while folders.len() > MOST_FOLDERS {
            let deepest = folders.iter().map(PathNode::depth).max().unwrap_or(0);
            let (deep, mut rest): (BTreeSet<PathNode>, BTreeSet<PathNode>) = folders
                .into_iter()
                .partition(|node| node.depth() == deepest);
            rest.extend(deep.iter().filter_map(|node| node.above().cloned()));
            folders = rest;
            if deepest == 0 {
                break;
            }
        }
        let outermost: Vec<&PathNode> = folders
            .iter()
            .filter(|node| !folders.iter().any(|other| node.is_below(other)))
            .collect();
        let closed: Vec<PathBuf> = outermost.iter().map(|node| self.path_of(node)).collect();
        // A repository in such a folder was not looked through, either.
        self.pinned.retain(|path| {
            let is_own = |root: &super::WritableRoot| {
                root.depth == ScanDepth::Whole && path.parent() == Some(&root.path)
            };
            self.roots.iter().any(is_own) || !closed.iter().any(|above| path.starts_with(above))
        });
        let why = format!(
            "was not looked through for files that govern, because the workspace has too many folders ({count} were left out)"
        );
        let folders: Vec<PathNode> = outermost.into_iter().cloned().collect();
        let said = self.notes.len();
        folders.into_iter().for_each(|node| self.close(node, &why));
        // One line says enough.
        self.notes.truncate(said + 1);
    }
}
