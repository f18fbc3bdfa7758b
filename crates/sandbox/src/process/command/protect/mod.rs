//! Protected files, as a contained command meets them.
//!
//! The helper mounts existing ones read-only over themselves. It cannot mount over missing ones
//! without leaving files in the workspace that confuse other programs; and a mount is gone when a
//! process outside replaces the file under it. So the harness watches every folder that a command
//! may write, from before it reads the folder ([`scan`]), and kills a command that creates a
//! protected file, or runs while one is replaced. When none of its processes is left, the harness
//! sets new files aside and puts replaced ones back ([`restore`]).
//!
//! What is known by name, the table of protected names and what Git obeys, is protected first
//! ([`existing`]). Then the tree is walked ([`scan`]); what the walk does not reach is read-only for
//! this command. Some folders are not walked at all; a repository there does nothing until the index
//! of another one refers to it ([`submodule`]).
//!
//! Names are resolved from a descriptor of the place they are in ([`writable_root`],
//! [`path_node`]): places can be moved, and paths have a maximal length.

mod events;
mod existing;
mod guard;
mod path_node;
mod protected_file;
mod restore;
mod scan;
mod submodule;
mod writable_root;

use crate::git::{AnswerCache, GitGap, LinkReader, PersonalConfig};
use crate::plan::{Access, Plan};
use crate::process::command::files::open;
use crate::tier::Tier;
pub(super) use guard::{CommandResources, ProtectionGuard};
use path_node::PathNode;
use protected_file::ProtectedFile;
pub(super) use restore::UndoReport;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use submodule::IndexWatch;
use writable_root::{ScanDepth, WritableRoot};

/// Whether changes will be watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watching {
    /// A command will run.
    Yes,
    /// Only the present state is needed.
    No,
}

/// The result of reading events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notice {
    /// A protected file was created or replaced: the command must end.
    Broken,
    /// Nothing important, and all events were read.
    Nothing,
    /// Nothing important so far.
    More,
}

/// Events handled before other tasks get their turn.
const MOST_AT_ONCE: usize = 2000;
/// How long to scan folders before other tasks get their turn.
const TURN: Duration = Duration::from_millis(5);
/// How often to scan everything because events were missed.
const OFTEN: Duration = Duration::from_secs(1);

/// The protected files where one command may write.
#[derive(Debug, Default)]
pub(super) struct ProtectedFiles {
    /// The places that may be written.
    roots: Vec<WritableRoot>,
    /// The protected files that exist.
    existing: Vec<ProtectedFile>,
    /// Missing targets of links, and missing files that Git would obey.
    aliases: Vec<PathBuf>,
    /// Their names.
    alias_names: HashSet<OsString>,
    /// Git folders that are not called `.git`: programs started in one obey its `config`.
    bare: BTreeSet<PathNode>,
    /// Answers about what Git obeys, and whose settings they take into account.
    answers: Arc<AnswerCache>,
    person: PersonalConfig,
    /// Repositories about which Git's answer is known.
    looked: HashSet<PathBuf>,
    /// What could not be seen of Git's settings.
    git_gaps: Vec<GitGap>,
    /// The indexes of repositories that the command may write.
    indexes: Vec<IndexWatch>,
    /// When the search began, since 1970.
    began: Duration,
    /// Links that were met before the command.
    links: LinkReader,
    /// What is closed that the plan opens, and why, as sentences.
    pub(super) notes: Vec<String>,
    /// May not change, nor anything below them.
    pub(super) fixed: Vec<PathBuf>,
    /// May not be replaced, but their content may change.
    pub(super) pinned: Vec<PathBuf>,
    /// Folders that contain a protected link.
    pub(super) ways: Vec<PathBuf>,
    /// Receives changes, and the folder of each watch.
    events: Option<File>,
    folders: HashMap<i32, PathNode>,
    /// Folders that could not be scanned.
    closed: BTreeSet<PathNode>,
    /// Whether changes may have been missed.
    must_rescan: bool,
    scanned_at: Option<Instant>,
    /// New folders that were not scanned yet.
    unread: VecDeque<PathNode>,
    /// Folders that were scanned since the command ended, by device and inode.
    scanned: Option<HashSet<(u64, u64)>>,
    /// Protected names that were created.
    intruders: BTreeSet<PathNode>,
    /// Whether protection is by file, so that a replacement is as closed as any new file: then
    /// replacing one does no harm.
    is_by_file: bool,
    /// Whether files that are found are kept open.
    holds: bool,
    /// Whether everything was scanned.
    pub(super) is_complete: bool,
}

impl ProtectedFiles {
    /// Scans everything that a plan lets a command write.
    pub(super) fn find(
        plan: &Plan,
        tier: Tier,
        watching: Watching,
        answers: &Arc<AnswerCache>,
    ) -> Self {
        let mut found = Self {
            is_complete: true,
            is_by_file: tier == Tier::B,
            holds: watching == Watching::Yes,
            answers: Arc::clone(answers),
            person: plan.files.git.clone(),
            began: submodule::now(),
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
        found.protect_known(&files.project);
        found.scan_first();
        found.close_for_gaps();
        found.links = LinkReader::default();
        for paths in [&mut found.fixed, &mut found.pinned] {
            paths.sort();
            paths.dedup();
        }
        found
    }

    fn add_root(&mut self, path: &Path, project: &Path) {
        // The scan of a place covers the places inside it.
        if self
            .roots
            .iter()
            .any(|root| root.depth == ScanDepth::Whole && path.starts_with(&root.path))
        {
            return;
        }
        // The view refuses a place that cannot be opened.
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

    /// The descriptor that becomes readable on a change. `None` if there is nothing to watch, or no
    /// descriptor to watch with: users have few of them.
    pub(super) fn events(&mut self) -> Option<File> {
        self.events.take()
    }

    /// Takes the descriptor back.
    pub(super) fn keep(&mut self, events: File) {
        self.events = Some(events);
    }

    /// Handles events.
    pub(super) fn notice(&mut self, events: &File) -> Notice {
        let is_all = self.read_events(events, MOST_AT_ONCE);
        // A command that makes more changes than can be read is not scanned all the time.
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

    /// Without a descriptor: looks at the places themselves.
    pub(super) fn peek(&mut self) -> bool {
        self.check_all();
        for place in self.places() {
            self.scan(vec![place], scan::ScanPhase::Peek);
        }
        self.is_broken()
    }

    /// Whether the command must end.
    pub(super) fn is_broken(&self) -> bool {
        !self.intruders.is_empty() || self.existing.iter().any(|existing| existing.was_replaced)
    }

    /// Whether something may have to be restored.
    pub(super) fn has_roots(&self) -> bool {
        !self.roots.is_empty()
    }

    /// The nodes of the places.
    fn places(&self) -> Vec<PathNode> {
        self.roots.iter().map(|root| root.node.clone()).collect()
    }

    /// A path as a node below a place; `None` if it is in none.
    fn node_of(&self, path: &Path) -> Option<PathNode> {
        let mut roots = self.roots.iter();
        let root = roots.find(|root| path.starts_with(&root.path))?;
        Some(root.node.below(path.strip_prefix(&root.path).ok()?))
    }

    /// The place of a node.
    fn root_of(&self, node: &PathNode) -> &WritableRoot {
        &self.roots[node.root()]
    }

    /// The path of a node when the command started.
    fn path_of(&self, node: &PathNode) -> PathBuf {
        node.path(&self.root_of(node).path)
    }
}
