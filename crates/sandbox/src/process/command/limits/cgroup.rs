//! Cgroups, which limit all processes of a command together.

use crate::lock::lock;
use crate::plan::Limits;
use crate::process::command::leftovers::claim::{abandoned, claim, unique_name};
use crate::process::command::leftovers::pending::Leftover;
use crate::tier::Mechanism;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where this process may create groups, per kind of limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cgroups {
    memory: Option<PathBuf>,
    processes: Option<PathBuf>,
    cpu: Option<PathBuf>,
    unified: Option<PathBuf>,
    /// Left by earlier commands for later ones: making and removing groups takes a third as long as
    /// starting a program.
    idle: Arc<Mutex<Vec<GroupFolders>>>,
}

const MOST_IDLE: usize = 4;
const MOUNT: &str = "/sys/fs/cgroup";

impl Cgroups {
    /// Finds where groups can be created, by creating one.
    pub(crate) fn find() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut found = Self::default();
        for line in own.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let path = path.trim_start_matches('/');
            if controllers.is_empty() {
                let mounts = [
                    Path::new(MOUNT).to_path_buf(),
                    Path::new(MOUNT).join("unified"),
                ];
                let mount = mounts
                    .into_iter()
                    .find(|mount| mount.join("cgroup.controllers").exists());
                found.unified = mount
                    .map(|mount| mount.join(path))
                    .filter(|folder| is_delegated(folder) && can_make(folder));
            }
            let place = |name: &str| {
                Some(Path::new(MOUNT).join(name).join(path)).filter(|folder| can_make(folder))
            };
            for controller in controllers.split(',') {
                match controller {
                    "memory" => found.memory = place("memory"),
                    "pids" => found.processes = place("pids"),
                    "cpuacct" => found.cpu = place("cpuacct").or_else(|| place("cpu,cpuacct")),
                    _ => {}
                }
            }
        }
        found
    }

    /// Where groups are created.
    pub(crate) fn places(&self) -> Vec<PathBuf> {
        [&self.memory, &self.processes, &self.cpu, &self.unified]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    }

    pub(crate) fn memory(&self) -> Mechanism {
        self.mechanism(self.memory.as_ref())
    }

    pub(crate) fn processes(&self) -> Mechanism {
        self.mechanism(self.processes.as_ref())
    }

    fn mechanism(&self, first: Option<&PathBuf>) -> Mechanism {
        match (&self.unified, first) {
            (Some(_), _) => Mechanism::Cgroup2,
            (None, Some(_)) => Mechanism::Cgroup1,
            (None, None) => Mechanism::Rlimit,
        }
    }

    /// The groups of one command. Resource limits cover what the groups cannot limit.
    pub(crate) fn make(&self, limits: &Limits) -> Group {
        let group_limits = GroupLimits {
            memory: limits.memory_bytes,
            processes: limits.processes.saturating_add(1),
        };
        let mut idle = lock(&self.idle);
        // Groups of another plan get new limits, which takes a fifth as long as making new groups.
        let is_whole = |folders: &GroupFolders| {
            folders.memory == self.memory() && folders.processes == self.processes()
        };
        let at = idle
            .iter()
            .position(|folders| folders.group_limits == group_limits)
            .or_else(|| idle.iter().position(is_whole));
        let folders = at.map(|at| idle.remove(at));
        drop(idle);
        let folders = folders
            .and_then(|folders| folders.bounded(group_limits))
            .unwrap_or_else(|| self.make_folders(group_limits));
        Group {
            memory: folders.memory,
            processes: folders.processes,
            folders: Some(folders),
            idle: self.idle.clone(),
        }
    }

    fn make_folders(&self, group_limits: GroupLimits) -> GroupFolders {
        let name = unique_name();
        let rlimit = Mechanism::Rlimit;
        let mut made = GroupFolders {
            folders: Vec::new(),
            group_limits,
            memory: rlimit,
            processes: rlimit,
            usage_before: UsageBefore::default(),
            leftover: None,
        };
        if let Some(parent) = &self.unified {
            if made.add(parent, &name, GroupKind::Unified).is_ok() {
                (made.memory, made.processes) = (Mechanism::Cgroup2, Mechanism::Cgroup2);
            }
            return made;
        }
        if let Some(parent) = &self.memory
            && made.add(parent, &name, GroupKind::Memory).is_ok()
        {
            made.memory = Mechanism::Cgroup1;
        }
        if let Some(parent) = &self.processes
            && made.add(parent, &name, GroupKind::Processes).is_ok()
        {
            made.processes = Mechanism::Cgroup1;
        }
        made
    }
}

/// The limits of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupLimits {
    memory: u64,
    processes: u64,
}

/// What a group limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupKind {
    /// Everything, in cgroup v2.
    Unified,
    /// One thing each, in cgroup v1.
    Memory,
    Processes,
}

impl GroupKind {
    /// The file through which a process enters.
    fn door(self) -> &'static str {
        match self {
            Self::Unified => "cgroup.procs",
            // The file for one thread, and the helper has one; for a whole process the kernel would
            // briefly stop all others.
            Self::Memory | Self::Processes => "tasks",
        }
    }

    /// What to write to set these limits, and whether the group is useless without it. `before` are
    /// the previous limits.
    fn settings(
        self,
        group_limits: GroupLimits,
        before: Option<GroupLimits>,
    ) -> Vec<(&'static str, u64, Need)> {
        let GroupLimits { memory, processes } = group_limits;
        match self {
            Self::Unified => {
                let first = [
                    ("memory.max", memory, Need::Required),
                    ("pids.max", processes, Need::Required),
                ];
                let swap = before
                    .is_none()
                    .then_some(("memory.swap.max", 0, Need::Optional));
                first.into_iter().chain(swap).collect()
            }
            Self::Memory => {
                let mut all = vec![
                    ("memory.limit_in_bytes", memory, Need::Required),
                    ("memory.memsw.limit_in_bytes", memory, Need::Optional),
                ];
                // The limit of memory may never exceed that of memory and swap together.
                if before.is_some_and(|before| before.memory < memory) {
                    all.reverse();
                }
                all
            }
            Self::Processes => vec![("pids.max", processes, Need::Required)],
        }
    }
}

/// Whether a setting may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

/// Sets a group's limits.
fn set(
    folder: &Path,
    kind: GroupKind,
    group_limits: GroupLimits,
    before: Option<GroupLimits>,
) -> io::Result<()> {
    for (file, value, need) in kind.settings(group_limits, before) {
        // The file exists already, and must not be created.
        let set = OpenOptions::new()
            .write(true)
            .open(folder.join(file))
            .and_then(|mut file| file.write_all(value.to_string().as_bytes()));
        if need == Need::Required {
            set?;
        }
    }
    Ok(())
}

/// What the group had counted before this command.
#[derive(Clone, Copy, Debug, Default)]
struct UsageBefore {
    kills: u64,
    cpu: Duration,
}

/// The groups of one command; reused or removed when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    folders: Option<GroupFolders>,
    idle: Arc<Mutex<Vec<GroupFolders>>>,
    pub(crate) memory: Mechanism,
    pub(crate) processes: Mechanism,
}

#[derive(Debug)]
struct GroupFolder {
    path: PathBuf,
    kind: GroupKind,
    /// The file to write `0` to in order to enter.
    door: File,
    /// Keeps other harnesses from removing it.
    _claimed: File,
}

/// Existing groups; removed when dropped.
#[derive(Debug)]
struct GroupFolders {
    folders: Vec<GroupFolder>,
    group_limits: GroupLimits,
    memory: Mechanism,
    processes: Mechanism,
    usage_before: UsageBefore,
    /// Until they are removed.
    leftover: Option<Leftover>,
}

impl Group {
    /// Whether there is no group.
    pub(crate) fn is_none(&self) -> bool {
        self.folders().next().is_none()
    }

    fn folders(&self) -> impl Iterator<Item = &GroupFolder> {
        self.folders.iter().flat_map(|groups| &groups.folders)
    }

    /// The files to write `0` to in order to enter.
    pub(crate) fn doors(&self) -> Vec<BorrowedFd<'_>> {
        self.folders().map(|folder| folder.door.as_fd()).collect()
    }

    /// Whether the kernel killed a process of this command for lack of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.folders
            .as_ref()
            .is_some_and(|folders| folders.kills() > folders.usage_before.kills)
    }

    /// Processor time of all processes together.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let folders = self.folders.as_ref()?;
        Some(folders.cpu()?.saturating_sub(folders.usage_before.cpu))
    }

    /// Kills everything inside, if the kernel can do that in one step.
    pub(crate) fn kill(&self) {
        for folder in self.folders() {
            let _ = fs::write(folder.path.join("cgroup.kill"), "1");
        }
    }

    /// Kills everything inside one by one, and returns whether it was empty. A number counts only
    /// while its process is known to be in the group.
    pub(crate) fn kill_each(&self) -> bool {
        let mut is_empty = true;
        for folder in self.folders() {
            let inside =
                || fs::read_to_string(folder.path.join("cgroup.procs")).unwrap_or_default();
            let first = inside();
            is_empty &= first.trim().is_empty();
            let open = |line: &str| {
                let pid = Pid::from_raw(line.parse().ok()?)?;
                pidfd_open(pid, PidfdFlags::empty()).ok()
            };
            let opened: Vec<_> = first.lines().map(|line| (line, open(line))).collect();
            // A process that is still listed now that its pidfd is open is the one that was meant.
            let second = inside();
            for (line, process) in opened {
                if let Some(process) = process
                    && second.lines().any(|still| still == line)
                {
                    let _ = pidfd_send_signal(process, Signal::KILL);
                }
            }
        }
        is_empty
    }
}

impl Default for Group {
    /// No group.
    fn default() -> Self {
        Self {
            folders: None,
            idle: Arc::default(),
            memory: Mechanism::Rlimit,
            processes: Mechanism::Rlimit,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(mut folders) = self.folders.take() else {
            return;
        };
        if folders.folders.is_empty() || !folders.are_empty() {
            return;
        }
        folders.usage_before = UsageBefore {
            kills: folders.kills(),
            cpu: folders.cpu().unwrap_or_default(),
        };
        let mut idle = lock(&self.idle);
        idle.push(folders);
        let surplus = (idle.len() > MOST_IDLE).then(|| idle.remove(0));
        drop(idle);
        drop(surplus);
    }
}

impl GroupFolders {
    /// The same groups with other limits; `None`, and they are removed, if these cannot be set.
    fn bounded(mut self, group_limits: GroupLimits) -> Option<Self> {
        let before = self.group_limits;
        let set = |folder: &GroupFolder| set(&folder.path, folder.kind, group_limits, Some(before));
        if group_limits != before && !self.folders.iter().all(|folder| set(folder).is_ok()) {
            return None;
        }
        self.group_limits = group_limits;
        Some(self)
    }

    fn add(&mut self, parent: &Path, name: &str, kind: GroupKind) -> io::Result<()> {
        let path = parent.join(name);
        fs::create_dir(&path)?;
        // Another harness may have found it before it was claimed.
        let claimed = claim(&path).ok_or(io::ErrorKind::ResourceBusy)?;
        let open = || OpenOptions::new().write(true).open(path.join(kind.door()));
        let door = set(&path, kind, self.group_limits, None)
            .and_then(|()| open())
            .inspect_err(|_| drop(fs::remove_dir(&path)))?;
        self.folders.push(GroupFolder {
            path,
            kind,
            door,
            _claimed: claimed,
        });
        self.leftover.get_or_insert_with(|| Leftover::of(None));
        Ok(())
    }

    fn are_empty(&self) -> bool {
        let is_empty = |folder: &GroupFolder| {
            fs::read(folder.path.join("cgroup.procs")).is_ok_and(|processes| processes.is_empty())
        };
        self.folders.iter().all(is_empty)
    }

    /// The numbers after a name in a file of each group.
    fn numbers(&self, file: &str, name: &str) -> impl Iterator<Item = u64> {
        let paths = self
            .folders
            .iter()
            .map(move |folder| folder.path.join(file));
        let texts = paths.filter_map(|path| fs::read_to_string(path).ok());
        let number = move |text: String| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name)?.parse().ok())
        };
        texts.filter_map(number)
    }

    fn kills(&self) -> u64 {
        let files = ["memory.oom_control", "memory.events"];
        files
            .iter()
            .flat_map(|file| self.numbers(file, "oom_kill "))
            .sum()
    }

    fn cpu(&self) -> Option<Duration> {
        let mut micros = self.numbers("cpu.stat", "usage_usec ");
        micros.next().map(Duration::from_micros)
    }
}

impl Drop for GroupFolders {
    fn drop(&mut self) {
        for GroupFolder {
            path,
            door,
            _claimed,
            ..
        } in self.folders.drain(..)
        {
            drop(door);
            // A process that ended an instant ago may still be counted.
            for _ in 0..50 {
                if fs::remove_dir(&path).is_ok() || !path.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn can_make(folder: &Path) -> bool {
    let probe = folder.join(unique_name());
    fs::create_dir(&probe).is_ok() && fs::remove_dir(&probe).is_ok()
}

/// Whether groups below this one have limits for memory and processes, or can get them.
fn is_delegated(folder: &Path) -> bool {
    let has = || {
        let enabled = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        ["memory", "pids"]
            .iter()
            .all(|name| enabled.split_whitespace().any(|found| found == *name))
    };
    has() || fs::write(folder.join("cgroup.subtree_control"), "+memory +pids").is_ok() && has()
}

/// Removes the groups of a killed harness.
pub(crate) fn remove_stale(folder: &Path) {
    for (group, _claimed) in abandoned(folder) {
        let _ = fs::remove_dir(group);
    }
}
