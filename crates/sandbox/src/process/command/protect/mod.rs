//! The files that govern calls, as a contained command meets them.
//!
//! What exists is mounted read-only over itself. What does not exist cannot be mounted over without leaving something in the workspace
//! that other programs would stumble upon; and a mount goes when somebody outside replaces what it lies on. So every folder that a command
//! may write is watched from before it is read ([`scan`]), and the command that makes such a name, or that runs while one is replaced, is
//! ended at once. When nothing of it is left, what came is set aside and what was there is put back ([`restore`]).
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
pub(super) use guard::{Had, Keeping};
use path_node::Spot;
use protected_file::Known;
pub(super) use restore::Undone;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use writable_root::{Depth, Root};

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
pub(super) enum Noticed {
    /// Something that governs calls came to be, or was replaced: the command has to end.
    Broken,
    /// Nothing of importance, and all was heard.
    Nothing,
    /// Nothing of importance so far.
    More,
}

/// What is heard before others get their turn.
const MOST_AT_ONCE: usize = 2000;
/// How long folders are looked into before others get their turn.
const TURN: Duration = Duration::from_millis(5);
/// How often everything is looked through because something was not heard.
const OFTEN: Duration = Duration::from_secs(1);

/// What is protected where one command may write.
#[derive(Debug, Default)]
pub(super) struct Protected {
    /// The places that may be written.
    roots: Vec<Root>,
    /// What is there.
    known: Vec<Known>,
    /// What links lead to that is not there.
    aliases: Vec<PathBuf>,
    /// Git's folders that are not called `.git`: whatever is started in one obeys its `config`.
    bare: BTreeSet<Spot>,
    /// May not change, nor anything below.
    pub(super) fixed: Vec<PathBuf>,
    /// May not be replaced; what is in it may change.
    pub(super) pinned: Vec<PathBuf>,
    /// Folders with a link in them that governs.
    pub(super) ways: Vec<PathBuf>,
    /// Where changes are told, and in which folder.
    events: Option<OwnedFd>,
    folders: HashMap<i32, Spot>,
    /// Folders that could not be looked into.
    closed: BTreeSet<Spot>,
    /// Whether changes may have been missed.
    must_look_again: bool,
    looked: Option<Instant>,
    /// Folders that came to be and were not looked into yet.
    unread: VecDeque<Spot>,
    /// Folders that were looked into since the command ended, by their numbers.
    looked_into: Option<HashSet<(u64, u64)>>,
    /// What came to be although it may not.
    intruders: BTreeSet<Spot>,
    /// Whether a file that takes a name has no more rights than a new one: then it does not matter who replaced it.
    is_by_file: bool,
    /// Whether what is found is held open.
    holds: bool,
    /// Whether everything was looked at.
    pub(super) is_complete: bool,
}

impl Protected {
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
        found.look_at_first(&files.project, watching);
        found.fixed.sort();
        found.fixed.dedup();
        found
    }

    fn add_root(&mut self, path: &Path, project: &Path) {
        // What is in another such place is looked through there.
        if self
            .roots
            .iter()
            .any(|root| root.depth == Depth::Whole && path.starts_with(&root.path))
        {
            return;
        }
        // A place that cannot be opened is refused by the view.
        let Ok(folder) = open::open(path) else {
            return;
        };
        let (base, depth) = if path.starts_with(project) {
            (project, Depth::Whole)
        } else {
            (path.parent().unwrap_or(path), Depth::Top)
        };
        let below = path.strip_prefix(base).unwrap_or(path).to_string_lossy();
        let spot = Spot::of_root(self.roots.len(), &below);
        self.roots.push(Root {
            path: path.to_path_buf(),
            depth,
            spot,
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
    pub(super) fn notice(&mut self, events: &File) -> Noticed {
        let is_all = self.take_in(events, MOST_AT_ONCE);
        // Whoever makes more noise than can be listened to is not looked after all the time.
        if self.must_look_again && self.looked.is_none_or(|looked| looked.elapsed() > OFTEN) {
            self.must_look_again = false;
            self.look_again(Some(events));
            self.looked = Some(Instant::now());
        }
        let is_all = self.look_a_while(events, TURN) && is_all;
        match (self.is_broken(), is_all) {
            (true, _) => Noticed::Broken,
            (false, true) => Noticed::Nothing,
            (false, false) => Noticed::More,
        }
    }

    /// For whoever has nothing to watch with: looks at the places themselves.
    pub(super) fn peek(&mut self) -> bool {
        self.check_all();
        for place in self.places() {
            self.look(vec![place], scan::When::Peek);
        }
        self.is_broken()
    }

    /// Whether the command has to end.
    pub(super) fn is_broken(&self) -> bool {
        !self.intruders.is_empty() || self.known.iter().any(|known| known.was_replaced)
    }

    /// Whether something may have to be restored.
    pub(super) fn has_work(&self) -> bool {
        !self.roots.is_empty()
    }

    /// The places themselves.
    fn places(&self) -> Vec<Spot> {
        self.roots.iter().map(|root| root.spot.clone()).collect()
    }

    /// A path as a name below a place; `None` when it is in none.
    fn spot_of(&self, path: &Path) -> Option<Spot> {
        let root = self
            .roots
            .iter()
            .find(|root| path.starts_with(&root.path))?;
        let below = path.strip_prefix(&root.path).ok()?;
        Some(
            below
                .iter()
                .fold(root.spot.clone(), |at, name| at.child(name)),
        )
    }

    /// The place that a name is below.
    fn root_of(&self, spot: &Spot) -> &Root {
        &self.roots[spot.root()]
    }

    /// Where a name was when the command started.
    fn path_of(&self, spot: &Spot) -> PathBuf {
        spot.path(&self.root_of(spot).path)
    }
}
