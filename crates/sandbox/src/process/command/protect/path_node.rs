//! A name below a writable place.
//!
//! It refers to the name above it instead of storing its path: a command can nest folders so deeply
//! that a path exceeds the kernel's limit, and all of them together exceed memory.

use crate::file::{GIT_FOLDER, is_git_folder, is_protected, is_protected_name};
use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A name below a place. Two are equal if they have the same names on the way from the same place.
#[derive(Clone, Debug)]
pub(super) struct PathNode(Arc<NodeData>);

#[derive(Debug)]
struct NodeData {
    /// The index of its place.
    root: usize,
    /// `None` for the place itself.
    above: Option<PathNode>,
    name: OsString,
    /// How many names are above it.
    depth: usize,
    /// Whether it is protected.
    is_protected: bool,
    /// Whether everything in it is protected.
    covers: bool,
    /// Whether it is, or is in, a folder of Git's.
    is_of_git: bool,
}

impl PathNode {
    /// A place; `below` is its path as protected names are spelled.
    pub(super) fn of_root(root: usize, below: &str) -> Self {
        let name = below.rsplit('/').next().unwrap_or_default().into();
        let (is_protected, covers) = (is_protected(below), is_protected(&format!("{below}/x")));
        let is_of_git = below.split('/').any(is_git_folder);
        Self(Arc::new(NodeData {
            root,
            above: None,
            name,
            depth: 0,
            is_protected,
            covers,
            is_of_git,
        }))
    }

    /// A name in this folder.
    pub(super) fn child(&self, name: &OsStr) -> Self {
        let (mut is_protected_here, mut covers, mut is_of_git) =
            (self.0.covers, self.0.covers, self.0.is_of_git);
        let text = name.to_string_lossy();
        if !covers && is_protected_name(&text) {
            // A name is protected by itself, by the name above it, or by lying in a folder of
            // Git's.
            let git = if is_of_git { GIT_FOLDER } else { "" };
            let near = format!("{git}/{}/{text}", self.0.name.to_string_lossy());
            is_protected_here = is_protected(&near);
            covers = is_protected(&format!("{near}/x"));
            is_of_git |= is_protected_here && !covers;
        }
        let (root, above, depth) = (self.0.root, Some(self.clone()), self.0.depth + 1);
        Self(Arc::new(NodeData {
            root,
            above,
            name: name.to_owned(),
            depth,
            is_protected: is_protected_here,
            covers,
            is_of_git,
        }))
    }

    /// The node at a relative path below this folder.
    pub(super) fn below(&self, path: &Path) -> Self {
        path.iter().fold(self.clone(), |at, name| at.child(name))
    }

    /// The index of its place.
    pub(super) fn root(&self) -> usize {
        self.0.root
    }

    /// The folder it is in; `None` for a place itself.
    pub(super) fn above(&self) -> Option<&Self> {
        self.0.above.as_ref()
    }

    /// How many names are above it.
    pub(super) fn depth(&self) -> usize {
        self.0.depth
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.0.name
    }

    /// Whether it is protected, or in something protected.
    pub(super) fn is_protected(&self) -> bool {
        self.0.is_protected
    }

    /// Whether it is, or is in, a folder of Git's.
    pub(super) fn is_of_git(&self) -> bool {
        self.0.is_of_git
    }

    /// The names on the way to it, from its place down.
    pub(super) fn names(&self) -> Vec<&OsStr> {
        let mut names: Vec<&OsStr> = self
            .way_up()
            .filter(|node| node.above().is_some())
            .map(Self::name)
            .collect();
        names.reverse();
        names
    }

    /// Its path, if its place is at `place`.
    pub(super) fn path(&self, place: &Path) -> PathBuf {
        let mut path = place.to_path_buf();
        path.extend(self.names());
        path
    }

    /// Whether it is at this path. Compares names first, because this runs for every change in a
    /// workspace.
    pub(super) fn is_at(&self, place: &Path, path: &Path) -> bool {
        match self.above() {
            Some(_) => {
                path.file_name() == Some(self.name())
                    && path.as_os_str() == self.path(place).as_os_str()
            }
            None => path.as_os_str() == place.as_os_str(),
        }
    }

    /// Whether it is below another.
    pub(super) fn is_below(&self, other: &Self) -> bool {
        let up = self.0.depth.checked_sub(other.0.depth).filter(|up| *up > 0);
        up.and_then(|up| self.way_up().nth(up))
            .is_some_and(|above| above == other)
    }

    fn way_up(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |node| node.above())
    }
}

impl Drop for NodeData {
    /// Iterative: dropping the names of a deep tree recursively would need a deep stack.
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(mut node) = above.and_then(|PathNode(node)| Arc::into_inner(node)) {
            above = node.above.take();
        }
    }
}

impl Ord for PathNode {
    /// Higher ones first. Two in the same folder are compared by their names alone.
    fn cmp(&self, other: &Self) -> Ordering {
        let pairs = self
            .way_up()
            .zip(other.way_up())
            .take_while(|(one, another)| !Arc::ptr_eq(&one.0, &another.0));
        let mut names = pairs.map(|(one, another)| one.name().cmp(another.name()));
        let by_name = || names.find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
        (self.0.root, self.0.depth)
            .cmp(&(other.0.root, other.0.depth))
            .then_with(by_name)
    }
}

impl PartialOrd for PathNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathNode {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathNode {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn node(path: &str) -> PathNode {
        path.split('/').fold(PathNode::of_root(0, ""), |at, name| {
            at.child(OsStr::new(name))
        })
    }

    #[test]
    fn a_node_is_protected_where_its_whole_path_is() {
        for path in [
            "harness.md",
            "a/b/.claude",
            "a/.claude/x/y",
            ".vscode/settings.json",
            ".vscode/a/settings.json",
            "a/.config/goose",
            "goose",
            ".git",
            "a/.git",
            ".git/config",
            ".git/a/b/hooks",
            ".git/a/b/hooks/x",
            ".git/a/.git",
            ".GIT/x/Hooks",
            "hooks",
            "a/config",
            ".git/index",
            ".vscode",
            "src/main.rs",
            ".git/.vscode/mcp.json",
            ".harness/.git",
            "a/commondir",
        ] {
            assert_eq!(node(path).is_protected(), is_protected(path), "{path}");
        }
        for (below, name) in [
            ("", "config"),
            (".git", "config"),
            ("a/.git/b", "hooks"),
            (".vscode", "mcp.json"),
            (".claude/x", "y"),
        ] {
            let path = format!("{below}/{name}");
            assert_eq!(
                PathNode::of_root(0, below)
                    .child(OsStr::new(name))
                    .is_protected(),
                is_protected(path.trim_start_matches('/')),
                "{path}"
            );
        }
    }

    #[test]
    fn nodes_are_equal_by_their_names_and_those_above_come_first() {
        assert_eq!(node("a/b"), node("a/b"));
        assert_ne!(node("a/b"), node("b/b"));
        assert!(
            node("a/b/c").is_below(&node("a"))
                && !node("a/b/c").is_below(&node("b"))
                && !node("a").is_below(&node("a"))
        );
        assert_eq!(node("a/b").path(Path::new("/ws")), Path::new("/ws/a/b"));
        assert!(
            node("a/b").is_at(Path::new("/ws"), Path::new("/ws/a/b"))
                && !node("a/b").is_at(Path::new("/ws"), Path::new("/ws/c/b"))
        );
        let sorted: BTreeSet<PathNode> = ["z/z/a", "b", "a/c", "b"].map(node).into();
        assert_eq!(
            sorted
                .iter()
                .map(|node| node.path(Path::new("")))
                .collect::<Vec<_>>(),
            ["b", "a/c", "z/z/a"].map(PathBuf::from)
        );
    }

    #[test]
    fn a_deep_node_is_compared_and_dropped_without_a_deep_stack() {
        let deep =
            || (0..300_000).fold(PathNode::of_root(0, ""), |at, _| at.child(OsStr::new("d")));
        assert!(deep() == deep());
    }
}
