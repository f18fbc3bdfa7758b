//! Everything that is decided about a command before a process starts, and the place it is started in.

use super::files::identity::Change;
use super::files::landlock::Rule;
use super::files::landlock_rules;
use super::files::landlock_rules::Given;
use super::files::mount_tree;
use super::files::program;
use super::files::runnable::Runnable;
use super::files::view::{View, What};
use super::helper::block::Filled;
use super::helper::layout::{FAILED, READY, Word};
use super::helper::programs::{self, Parts, Room, with_namespaces, without_namespaces};
use super::helper::scheduling;
use super::helper::start::{Helper, Made};
use super::leftovers::scratch::Scratch;
use super::limits::cgroup::Group;
use super::limits::rlimit::Held;
use super::namespaces::Ground;
use super::protect::{Protected, Watching};
use super::sandbox::Shared;
use super::warm::pool::{Likeness, Ready};
use super::warm::stamp::Stamp;
use super::{Command, SandboxError};
use crate::plan::{Access, Plan, Programs};
use crate::tier::{Mechanism, Tier};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a plan comes to in the workspace as it is now.
pub(super) struct Layout<'a> {
    shared: &'a Shared,
    plan: &'a Plan,
    pub(super) ground: Ground,
    pub(super) protected: Protected,
    view: View,
    trees: Vec<PathBuf>,
    /// What Landlock lets it do, without the folder for temporary files.
    rules: Vec<Rule>,
    /// Folders of which everything is in the rules by itself.
    listed: BTreeMap<PathBuf, Option<Stamp>>,
    /// The block of the place, with [`NOWHERE`] for that folder.
    block: Filled,
}

/// What a place is made of.
pub(super) struct Gathered {
    /// Its block, where it differs from those of others like it.
    own: Option<Filled>,
    /// What the helper could not open.
    trees: Vec<OwnedFd>,
    scratch: Option<Scratch>,
    weaker: Vec<String>,
    group: Group,
}

/// The private folder, and by its name also the home, of a command in namespaces.
pub(super) const PRIVATE: &str = "/tmp";
/// Stands for the folder for temporary files of a place, which no two have in common.
const NOWHERE: &str = "/nowhere";

impl<'a> Layout<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        plan: &'a Plan,
        ground: Ground,
        watching: Watching,
    ) -> Result<Self, SandboxError> {
        let protected = if shared.is_off {
            Protected::default()
        } else {
            Protected::find(plan, shared.tier, watching)
        };
        let mut view = View::new(
            plan,
            &ground.identity,
            &shared.homes,
            &protected,
            shared.tier,
        )?;
        if let (Programs::Only(programs), Tier::A) = (&plan.programs, shared.tier) {
            Runnable::of(programs).open_in(&mut view);
        }
        let Given { rules, listed } = match shared.tier {
            Tier::A => Given {
                rules: landlock_rules::inside_namespaces(plan, &view, shared.landlock),
                listed: BTreeMap::new(),
            },
            Tier::B => landlock_rules::alone(plan, &view, shared.landlock, &shared.listings),
            Tier::None => Given {
                rules: Vec::new(),
                listed: BTreeMap::new(),
            },
        };
        let block = Filled {
            bytes: Vec::new(),
            steps: Vec::new(),
        };
        let mut layout = Self {
            shared,
            plan,
            ground,
            protected,
            view,
            trees: Vec::new(),
            rules,
            listed,
            block,
        };
        layout.trees = layout.foreign_trees();
        layout.block = layout.fill(Path::new(NOWHERE));
        Ok(layout)
    }

    /// The block of the place.
    fn fill(&self, scratch: &Path) -> Filled {
        let Self {
            shared, plan, view, ..
        } = self;
        let mut rules = self.rules.clone();
        if shared.tier == Tier::B {
            rules.push(landlock_rules::scratch(plan, shared.landlock, scratch));
        }
        let landlock = (shared.tier != Tier::None).then_some((shared.landlock, rules));
        let room = Room {
            plan,
            identity: self.ground.identity,
            trees: &self.trees,
            landlock,
        };
        if shared.tier == Tier::A {
            with_namespaces(&room, view)
        } else {
            without_namespaces(&room)
        }
    }

    /// What another place must have in common with this one to be as good.
    pub(super) fn likeness(&self) -> Likeness {
        let limits = &self.plan.limits;
        let profile = self.profile().filter(|_| self.shared.tier == Tier::B);
        let (ground, block) = (self.ground.block.clone(), self.block.clone());
        Likeness {
            ground,
            block,
            memory_bytes: limits.memory_bytes,
            processes: limits.processes,
            profile,
        }
    }

    /// What a login shell reads in a private home. It asks the machine's `/etc/profile` first, which sets another `PATH`; this gives it the plan's
    /// again.
    fn profile(&self) -> Option<String> {
        let value = |wanted: &str| {
            self.plan
                .environment
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value)
        };
        let path = value("PATH").filter(|_| value("HOME").is_some_and(|home| home == PRIVATE))?;
        Some(format!(
            "PATH='{}'\nexport PATH\n",
            path.replace('\'', "'\\''")
        ))
    }

    /// Which files it is made of: everything that is covered, put back or ruled about. A mount over something that was replaced is gone
    /// with it.
    pub(super) fn stamps(&self) -> Vec<Option<Stamp>> {
        let covered = self
            .view
            .placements
            .iter()
            .map(|placement| Some(placement.stamp.clone()));
        // With namespaces the rules are about what is mounted; without, about the very files. What is in a folder that was listed is what it was
        // for as long as the folder is.
        let is_listed = |rule: &&Rule| {
            rule.path
                .parent()
                .is_some_and(|parent| self.listed.contains_key(parent))
        };
        let ruled = self
            .rules
            .iter()
            .filter(|rule| self.shared.tier == Tier::B && !is_listed(rule))
            .map(|rule| Stamp::of(&rule.path));
        covered
            .chain(self.listed.values().cloned())
            .chain(ruled)
            .collect()
    }

    /// Gathers what the place is made of.
    pub(super) fn gather(&self) -> Result<Gathered, SandboxError> {
        let identity = &self.ground.identity;
        let scratch = if self.shared.tier == Tier::B {
            Some(Scratch::new(identity, self.profile().as_deref())?)
        } else {
            None
        };
        let own = scratch.as_ref().map(|scratch| self.fill(scratch.path()));
        let mut weaker = Vec::new();
        let trees = self.open_trees(&mut weaker)?;
        Ok(Gathered {
            own,
            trees,
            scratch,
            weaker,
            group: self.shared.cgroups.make(&self.plan.limits),
        })
    }

    /// Has the place made by a helper that was started on its ground.
    pub(super) fn make(
        &self,
        gathered: Gathered,
        helper: Helper,
        made: Made,
    ) -> Result<Ready, SandboxError> {
        let Gathered {
            own,
            trees,
            scratch,
            weaker,
            group,
        } = gathered;
        let ready = Ready {
            helper,
            group,
            scratch,
            weaker,
        };
        ready.helper.enter(ready.group.doors())?;
        ready
            .helper
            .place(own.as_ref().unwrap_or(&self.block), &trees, made)?;
        Ok(ready)
    }

    /// Where the command starts, and the real path of its program.
    pub(super) fn resolve(&self, command: &Command) -> Result<(PathBuf, PathBuf), SandboxError> {
        let is_visible =
            |path: &Path| self.shared.is_off || self.view.is_visible(path) && self.is_reached(path);
        let folder = start_folder(self.plan, command, &self.view)?;
        let program = program::resolve(self.plan, command, &folder, &is_visible)?;
        Ok((folder, program))
    }

    /// Whether the folders above let the command's user pass. Namespaces put what lies in a closed folder where it can be reached.
    fn is_reached(&self, path: &Path) -> bool {
        let may_pass = |above: &Path| {
            fs::metadata(above).is_ok_and(|facts| self.ground.identity.may(&facts, 1))
        };
        self.shared.tier == Tier::A
            || self.ground.identity.change == Change::None
            || path.ancestors().skip(1).all(may_pass)
    }

    /// The block of the command. `others` are the processes that the limit counts besides the command's.
    pub(super) fn command(
        &self,
        command: &Command,
        folder: &Path,
        program: &Path,
        ready: &Ready,
        others: u64,
        time_left: Duration,
    ) -> Filled {
        let (plan, shared) = (self.plan, self.shared);
        let mut environment: Vec<String> = plan
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if let Some(scratch) = &ready.scratch {
            let folder = scratch.path().display();
            environment.retain(|line| !line.starts_with("TMPDIR="));
            environment.push(format!("TMPDIR={folder}"));
            if let Some(line) = environment
                .iter_mut()
                .find(|line| **line == format!("HOME={PRIVATE}"))
            {
                *line = format!("HOME={folder}");
            }
        }
        let parts = Parts {
            program,
            name: &command.program,
            args: &command.args,
            folder,
            environment,
            limits: &plan.limits,
            held: Held {
                memory: ready.group.memory != Mechanism::Rlimit,
            },
            others,
            is_ruled: shared.has_rules(),
            profile: self.profile().filter(|_| shared.tier == Tier::A),
            class: scheduling::patient(),
            priority: (self.ground.identity.change != Change::None).then(scheduling::own),
            time_left,
        };
        programs::command(&parts)
    }

    /// The blocks of the namespaces and of the place. What their steps are called is the same for all that are like it.
    pub(super) fn blocks(&self) -> [&Filled; 2] {
        [&self.ground.block, &self.block]
    }

    /// What the command's user could not open itself.
    fn foreign_trees(&self) -> Vec<PathBuf> {
        if self.shared.tier != Tier::A || self.ground.identity.change == Change::None {
            return Vec::new();
        }
        let outermost = |within: &Option<(PathBuf, What)>| {
            !within.as_ref().is_some_and(|(_, what)| what.is_tree())
        };
        let is_opened = |what: What| what.is_tree() && what != What::Run;
        let trees = self
            .view
            .placements
            .iter()
            .filter(|placement| is_opened(placement.what) && outermost(&placement.within));
        trees.map(|placement| placement.path.clone()).collect()
    }

    /// Opens it, as that user should see it.
    fn open_trees(&self, weaker: &mut Vec<String>) -> Result<Vec<OwnedFd>, SandboxError> {
        let mut opened = Vec::new();
        for path in &self.trees {
            let failed = |cause| SandboxError::BadPlace {
                what: "place",
                path: path.clone(),
                cause,
            };
            let tree = mount_tree::open(path).map_err(failed)?;
            let is_writable = self
                .view
                .placements
                .iter()
                .any(|placement| placement.path == *path && placement.what == What::Write);
            let is_own = is_writable || path.starts_with(&self.plan.files.workspace);
            let identity = &self.ground.identity;
            if identity.change == Change::Nobody && is_own {
                let owners = self.shared.owners.get_or_init(|| {
                    mount_tree::owners(identity).map_err(|cause| cause.to_string())
                });
                let shown = owners.as_ref().map_err(Clone::clone).and_then(|owners| {
                    mount_tree::show_owners(&tree, owners).map_err(|cause| cause.to_string())
                });
                if let Err(cause) = shown {
                    weaker.push(format!(
                        "root's files in `{}` cannot be changed by the command: its file system shows no other owners ({cause})",
                        path.display()
                    ));
                }
            }
            opened.push(tree);
        }
        Ok(opened)
    }
}

/// Waits until a place is made; `false` when it cannot be, or takes too long.
pub(super) fn is_made(ready: &mut Ready) -> bool {
    const LONG: Timespec = Timespec {
        tv_sec: 5,
        tv_nsec: 0,
    };
    let mut word = [0; size_of::<Word>()];
    let said = matches!(
        poll(
            &mut [PollFd::new(&ready.helper.status, PollFlags::IN)],
            Some(&LONG)
        ),
        Ok(1..)
    );
    let said = said && ready.helper.status.read_exact(&mut word).is_ok();
    let kind = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
    debug_assert!(!said || kind == READY || kind == FAILED);
    said && kind == READY
}

fn start_folder(plan: &Plan, command: &Command, view: &View) -> Result<PathBuf, SandboxError> {
    let files = &plan.files;
    if files.access == Access::Hidden && command.cwd.is_none() {
        return Ok("/".into());
    }
    let wanted = files
        .workspace
        .join(command.cwd.as_deref().unwrap_or(Path::new("")));
    if wanted == Path::new("/tmp") {
        return Ok(wanted);
    }
    let bad = || SandboxError::BadFolder(wanted.clone());
    let real = fs::canonicalize(&wanted).map_err(|_| bad())?;
    // The places of a plan have no links on the way to them.
    let is_allowed = std::iter::once(&files.workspace)
        .chain(&files.readable)
        .chain(&files.writable)
        .any(|place| real.starts_with(place));
    if is_allowed && real.is_dir() && view.is_visible(&real) {
        Ok(real)
    } else {
        Err(bad())
    }
}
