//! The files that govern calls, as a contained command meets them.
//!
//! What exists is mounted read-only over itself. What does not exist cannot be mounted over without leaving something in the workspace
//! that other programs would stumble upon; and a mount goes when somebody outside replaces what it lies on. So every folder that a command
//! may write is watched from before it is read ([`scan`]), and the command that makes such a name, or that runs while one is replaced, is
//! ended at once. ScanPhase nothing of it is left, what came is set aside and what was there is put back ([`restore`]).
//!
//! Names are reached from a descriptor of the place they are in ([`writable_root`], [`path_node`]): places are moved, and paths have a longest length.

mod events;
mod git;
mod guard;
mod path_node;
mod protected_file;
mod restore;
mod scan;
mod writable_root;

use crate::plan::{Access, Plan};
use crate::process::command::files::open;
use crate::tier::Tier;
pub(super) use guard::{CommandResources, ProtectionGuard};
use path_node::PathNode;
use protected_file::ProtectedFile;
pub(super) use restore::UndoReport;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use writable_root::{ScanDepth, WritableRoot};

/// Whether changes will be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watching {
    /// A command will run.
    Yes,
    /// Only what is there now is wanted.
    No,
}

/// What came of listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// Something that governs calls came to be, or was replaced: the command has to end.
    Broken,
    /// Nothing of importance, and all was heard.
    Nothing,
    /// Nothing of importance so far.
    More,
}

/// What is heard before others get their turn.
const MOST_AT_ONCE: usize = 2000;
/// How long folders are scanned_at into before others get their turn.
const TURN: Duration = Duration::from_millis(5);
/// How often everything is scanned_at through because something was not heard.
const OFTEN: Duration = Duration::from_secs(1);

/// What is protected where one command may write.
#[derive(Debug, Default)]
pub(super) struct ProtectedFiles {
    /// The places that may be written.
    roots: Vec<WritableRoot>,
    /// What is there.
    existing: Vec<ProtectedFile>,
    /// What links lead to that is not there.
    aliases: Vec<PathBuf>,
    /// Git's folders that are not called `.git`: whatever is started in one obeys its `config`.
    bare: BTreeSet<PathNode>,
    /// May not change, nor anything below.
    pub(super) fixed: Vec<PathBuf>,
    /// May not be replaced; what is in it may change.
    pub(super) pinned: Vec<PathBuf>,
    /// Folders with a link in them that governs.
    pub(super) ways: Vec<PathBuf>,
    /// Where changes are told, and in which folder.
    events: Option<OwnedFd>,
    folders: HashMap<i32, PathNode>,
    /// Folders that could not be scanned_at into.
    closed: BTreeSet<PathNode>,
    /// Whether changes may have been missed.
    must_rescan: bool,
    scanned_at: Option<Instant>,
    /// Folders that came to be and were not scanned_at into yet.
    unread: VecDeque<PathNode>,
    /// Folders that were scanned_at into since the command ended, by their numbers.
    scanned: Option<HashSet<(u64, u64)>>,
    /// What came to be although it may not.
    intruders: BTreeSet<PathNode>,
    /// Whether a file that takes a name has no more rights than a new one: then it does not matter who replaced it.
    is_by_file: bool,
    /// Whether what is found is held open.
    holds: bool,
    /// Whether everything was scanned_at at.
    pub(super) is_complete: bool,
}

impl ProtectedFiles {
    /// Looks through everything that a plan lets a command write.
    pub(super) fn find(plan: &Plan, tier: Tier, watching: Watching) -> Self {
        let mut found = Self {
            is_complete: true,
            is_by_file: tier == Tier::B,
            ..Self::default()
        };
        let files = &plan.files;
        let own = match (files.access, files.only.is_empty()) {
            (Access::Write, true) => std::slice::from_ref(&files.workspace),
            (Access::Write, false) => &files.only[..],
            _ => &[],
        };
        for path in own.iter().chain(&files.writable) {
            found.add_root(path, &files.project);
        }
        if found.roots.is_empty() {
            return found;
        }
        if watching == Watching::Yes {
            found.events = events::take(&found.roots[0].path);
        }
        found.scan_first(&files.project, watching);
        found.fixed.sort();
        found.fixed.dedup();
        found
    }

    fn add_root(&mut self, path: &Path, project: &Path) {
        // What is in another such place is scanned_at through there.
        if self
            .roots
            .iter()
            .any(|root| root.depth == ScanDepth::Whole && path.starts_with(&root.path))
        {
            return;
        }
        // A place that cannot be opened is refused by the view.
        let Ok(folder) = open::open_exact(path) else {
            return;
        };
        let (base, depth) = if path.starts_with(project) {
            (project, ScanDepth::Whole)
        } else {
            (path.parent().unwrap_or(path), ScanDepth::Top)
        };
        let below = path.strip_prefix(base).unwrap_or(path).to_string_lossy();
        let node = PathNode::of_root(self.roots.len(), &below);
        self.roots.push(WritableRoot {
            path: path.to_path_buf(),
            depth,
            node,
            folder,
        });
    }

    /// The descriptor that can be read when something happened. `None` when there is nothing to watch, or nothing to watch with: users
    /// have few such descriptors.
    pub(super) fn events(&mut self) -> Option<File> {
        self.events.take().map(File::from)
    }

    /// Takes the descriptor back.
    pub(super) fn keep(&mut self, events: File) {
        self.events = Some(events.into());
    }

    /// Takes in what happened.
    pub(super) fn notice(&mut self, events: &File) -> Notice {
        let is_all = self.read_events(events, MOST_AT_ONCE);
        // Whoever makes more noise than can be listened to is not scanned_at after all the time.
        if self.must_rescan
            && self
                .scanned_at
                .is_none_or(|scanned_at| scanned_at.elapsed() > OFTEN)
        {
            self.must_rescan = false;
            self.rescan(Some(events));
            self.scanned_at = Some(Instant::now());
        }
        let is_all = self.scan_for(events, TURN) && is_all;
        match (self.is_broken(), is_all) {
            (true, _) => Notice::Broken,
            (false, true) => Notice::Nothing,
            (false, false) => Notice::More,
        }
    }

    /// For whoever has nothing to watch with: looks at the places themselves.
    pub(super) fn peek(&mut self) -> bool {
        self.check_all();
        for place in self.places() {
            self.scan(vec![place], scan::ScanPhase::Peek);
        }
        self.is_broken()
    }

    /// Whether the command has to end.
    pub(super) fn is_broken(&self) -> bool {
        !self.intruders.is_empty() || self.existing.iter().any(|existing| existing.was_replaced)
    }

    /// Whether something may have to be restored.
    pub(super) fn has_roots(&self) -> bool {
        !self.roots.is_empty()
    }

    /// The places themselves.
    fn places(&self) -> Vec<PathNode> {
        self.roots.iter().map(|root| root.node.clone()).collect()
    }

    /// A path as a name below a place; `None` when it is in none.
    fn node_of(&self, path: &Path) -> Option<PathNode> {
        let root = self
            .roots
            .iter()
            .find(|root| path.starts_with(&root.path))?;
        let below = path.strip_prefix(&root.path).ok()?;
        Some(
            below
                .iter()
                .fold(root.node.clone(), |at, name| at.child(name)),
        )
    }

    /// The place that a name is below.
    fn root_of(&self, node: &PathNode) -> &WritableRoot {
        &self.roots[node.root()]
    }

    /// Where a name was when the command started.
    fn path_of(&self, node: &PathNode) -> PathBuf {
        node.path(&self.root_of(node).path)
    }
}
