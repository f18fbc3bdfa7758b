//! Everything that is decided about a command before it starts, and the container it runs in.

use super::files::identity::UserChange;
use super::files::landlock::Rule;
use super::files::landlock_rules::{self, ListedFolders};
use super::files::mount_tree;
use super::files::program;
use super::files::runnable::Runnable;
use super::files::view::{MountKind, MountPoint, View};
use super::helper::block::EncodedBlock;
use super::helper::layout::READY;
use super::helper::programs::{
    self, CommandSpec, ContainerInputs, with_namespaces, without_namespaces,
};
use super::helper::scheduling;
use super::helper::start::{Helper, ReadyReport};
use super::leftovers::scratch::Scratch;
use super::namespaces::NamespaceSpec;
use super::protect::{ProtectedFiles, Watching};
use super::sandbox::SandboxState;
use super::warm::pool::{Container, ContainerKey};
use super::warm::stamp::FileStamp;
use super::{Command, SandboxError};
use crate::plan::{Access, Plan, Programs};
use crate::tier::Tier;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The container that a plan needs in the workspace as it is now.
pub(super) struct ContainerSpec<'a> {
    shared: &'a SandboxState,
    plan: &'a Plan,
    pub(super) namespaces: NamespaceSpec,
    pub(super) protected: ProtectedFiles,
    view: View,
    trees: Vec<PathBuf>,
    /// Landlock rules, without the one for the scratch folder.
    rules: Vec<Rule>,
    /// Folders whose entries each have a rule.
    listed: ListedFolders,
    /// The container's block, with [`SCRATCH_PLACEHOLDER`] for the scratch folder.
    block: EncodedBlock,
}

/// The private folder, and also the home, of a command in namespaces.
pub(super) const PRIVATE_HOME: &str = "/tmp";
/// Stands for the scratch folder, which no two containers share.
const SCRATCH_PLACEHOLDER: &str = "/nowhere";

impl<'a> ContainerSpec<'a> {
    pub(super) fn new(
        shared: &'a SandboxState,
        plan: &'a Plan,
        namespaces: NamespaceSpec,
        watching: Watching,
    ) -> Result<Self, SandboxError> {
        let protected = if shared.is_off {
            ProtectedFiles::default()
        } else {
            ProtectedFiles::find(plan, shared.tier, watching, &shared.git_answers)
        };
        let mut view = View::new(
            plan,
            &namespaces.identity,
            &shared.homes,
            &protected,
            shared.tier,
        )?;
        if let (Programs::Only(programs), Tier::A) = (&plan.programs, shared.tier) {
            Runnable::of(programs).open_in(&mut view);
        }
        let (rules, listed) = match shared.tier {
            Tier::A => (
                landlock_rules::inside_namespaces(plan, &view, shared.landlock),
                BTreeMap::new(),
            ),
            Tier::B => landlock_rules::without_namespaces(
                plan,
                &view,
                shared.landlock,
                &shared.folder_cache,
            ),
            Tier::None => (Vec::new(), BTreeMap::new()),
        };
        let mut layout = Self {
            shared,
            plan,
            namespaces,
            protected,
            view,
            trees: Vec::new(),
            rules,
            listed,
            block: EncodedBlock::default(),
        };
        layout.trees = layout.foreign_trees();
        layout.block = layout.fill(Path::new(SCRATCH_PLACEHOLDER));
        Ok(layout)
    }

    /// Encodes the container's block.
    fn fill(&self, scratch: &Path) -> EncodedBlock {
        let Self {
            shared, plan, view, ..
        } = self;
        let mut rules = self.rules.clone();
        if shared.tier == Tier::B {
            rules.push(landlock_rules::scratch(plan, shared.landlock, scratch));
        }
        let landlock = (shared.tier != Tier::None).then_some((shared.landlock, rules));
        let room = ContainerInputs {
            plan,
            identity: self.namespaces.identity,
            trees: &self.trees,
            landlock,
        };
        if shared.tier == Tier::A {
            with_namespaces(&room, view)
        } else {
            without_namespaces(&room)
        }
    }

    /// What another container must have in common with this one to be used instead.
    pub(super) fn key(&self) -> ContainerKey {
        let limits = &self.plan.limits;
        let profile = self.profile().filter(|_| self.shared.tier == Tier::B);
        let (namespaces, block) = (self.namespaces.block.clone(), self.block.clone());
        ContainerKey {
            namespaces,
            block,
            memory_bytes: limits.memory_bytes,
            processes: limits.processes,
            profile,
        }
    }

    /// The `.profile` of a login shell in a private home. `/etc/profile` runs first and sets
    /// another `PATH`; this restores the plan's.
    fn profile(&self) -> Option<String> {
        let value = |wanted: &str| {
            self.plan
                .environment
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, value)| value)
        };
        let path =
            value("PATH").filter(|_| value("HOME").is_some_and(|home| home == PRIVATE_HOME))?;
        Some(format!(
            "PATH='{}'\nexport PATH\n",
            path.replace('\'', "'\\''")
        ))
    }

    /// The files it depends on: everything that is covered, put back or has a rule. A mount over a
    /// file that was replaced is gone.
    pub(super) fn stamps(&self) -> Vec<Option<FileStamp>> {
        let covered = self
            .view
            .mounts
            .iter()
            .map(|mount| Some(mount.stamp.clone()));
        // With namespaces the rules are about mounts; without, about the files themselves. The
        // entries of a listed folder are covered by the stamp of the folder.
        let is_listed = |rule: &&Rule| {
            rule.path
                .parent()
                .is_some_and(|parent| self.listed.contains_key(parent))
        };
        let ruled = self
            .rules
            .iter()
            .filter(|rule| self.shared.tier == Tier::B && !is_listed(rule))
            .map(|rule| FileStamp::of(&rule.path));
        covered
            .chain(self.listed.values().cloned())
            .chain(ruled)
            .collect()
    }

    /// Has a helper that was started with its namespaces make the container; starts one if there is
    /// none yet.
    pub(super) fn make(
        &self,
        helper: Option<Helper>,
        report: ReadyReport,
    ) -> Result<Container, SandboxError> {
        let scratch = if self.shared.tier == Tier::B {
            let profile = self.profile();
            Some(Scratch::new(&self.namespaces.identity, profile.as_deref())?)
        } else {
            None
        };
        let own = scratch.as_ref().map(|scratch| self.fill(scratch.path()));
        let mut weaker = Vec::new();
        let trees = self.open_trees(&mut weaker)?;
        let group = self.shared.cgroups.make(&self.plan.limits);
        let helper = match helper {
            Some(helper) => helper,
            None => Helper::start(&self.namespaces.block)?,
        };
        let container = Container {
            helper,
            group,
            scratch,
            weaker,
        };
        container.helper.enter_cgroups(&container.group.doors())?;
        let block = own.as_ref().unwrap_or(&self.block);
        container.helper.make_container(block, &trees, report)?;
        Ok(container)
    }

    /// Where the command starts, and the real path of its program.
    pub(super) fn resolve(&self, command: &Command) -> Result<(PathBuf, PathBuf), SandboxError> {
        let is_visible =
            |path: &Path| self.shared.is_off || self.view.is_visible(path) && self.is_reached(path);
        let folder = start_folder(self.plan, command, &self.view)?;
        let program = program::resolve(self.plan, command, &folder, &is_visible)?;
        Ok((folder, program))
    }

    /// Whether the command's user may pass the folders above. Namespaces mount what lies in a
    /// closed folder where it can be reached.
    fn is_reached(&self, path: &Path) -> bool {
        let may_pass = |above: &Path| {
            fs::metadata(above).is_ok_and(|facts| self.namespaces.identity.may(&facts, 1))
        };
        self.shared.tier == Tier::A
            || self.namespaces.identity.change == UserChange::None
            || path.ancestors().skip(1).all(may_pass)
    }

    /// The command's block. `others` are the processes that the process limit also counts.
    pub(super) fn command(
        &self,
        command: &Command,
        folder: &Path,
        program: &Path,
        container: &Container,
        others: u64,
        time_left: Duration,
    ) -> EncodedBlock {
        let (plan, shared) = (self.plan, self.shared);
        let mut environment: Vec<String> = plan
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if let Some(scratch) = &container.scratch {
            let folder = scratch.path().display();
            environment.retain(|line| !line.starts_with("TMPDIR="));
            environment.push(format!("TMPDIR={folder}"));
            if let Some(line) = environment
                .iter_mut()
                .find(|line| **line == format!("HOME={PRIVATE_HOME}"))
            {
                *line = format!("HOME={folder}");
            }
        }
        let parts = CommandSpec {
            program,
            name: &command.program,
            args: &command.args,
            folder,
            environment,
            limits: &plan.limits,
            memory: container.group.memory,
            others,
            is_ruled: shared.has_rules(),
            profile: self.profile().filter(|_| shared.tier == Tier::A),
            class: scheduling::background_class(),
            priority: (self.namespaces.identity.change != UserChange::None)
                .then(scheduling::own_priority),
            time_left,
        };
        programs::command(&parts)
    }

    /// The blocks of the namespaces and the container. All containers with the same key have the
    /// same step names.
    pub(super) fn blocks(&self) -> [&EncodedBlock; 2] {
        [&self.namespaces.block, &self.block]
    }

    /// Trees that the command's user could not open itself.
    fn foreign_trees(&self) -> Vec<PathBuf> {
        if self.shared.tier != Tier::A || self.namespaces.identity.change == UserChange::None {
            return Vec::new();
        }
        let is_opened =
            |mount: &&MountPoint| mount.is_outermost_tree() && mount.kind != MountKind::Run;
        let trees = self.view.mounts.iter().filter(is_opened);
        trees.map(|mount| mount.path.clone()).collect()
    }

    /// Opens them as that user should see them.
    fn open_trees(&self, weaker: &mut Vec<String>) -> Result<Vec<OwnedFd>, SandboxError> {
        let mut opened = Vec::new();
        for path in &self.trees {
            let tree = mount_tree::clone_mounts(path)
                .map_err(|cause| SandboxError::bad_place("place", path, cause))?;
            let mut mounts = self.view.mounts.iter();
            let is_writable =
                mounts.any(|mount| mount.path == *path && mount.kind == MountKind::Write);
            let is_own = is_writable || path.starts_with(&self.plan.files.workspace);
            let identity = &self.namespaces.identity;
            if identity.change == UserChange::Nobody && is_own {
                let owners = self.shared.owners.get_or_init(|| {
                    mount_tree::owner_namespace(identity).map_err(|cause| cause.to_string())
                });
                let shown = owners.as_ref().map_err(Clone::clone).and_then(|owners| {
                    mount_tree::map_owners(&tree, owners).map_err(|cause| cause.to_string())
                });
                if let Err(cause) = shown {
                    weaker.push(format!(
                        "the command cannot change root's files in `{}`: its file system cannot map owners ({cause})",
                        path.display()
                    ));
                }
            }
            opened.push(tree);
        }
        Ok(opened)
    }
}

/// Waits until a container is ready; `false` if it fails or takes too long.
pub(super) fn wait_until_ready(container: &mut Container) -> bool {
    const LONG: Duration = Duration::from_secs(5);
    let report = container.helper.next_report(LONG);
    matches!(report, Ok(Some(report)) if report.kind == READY)
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
