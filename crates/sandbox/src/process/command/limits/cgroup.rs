//! Control groups, which hold a limit for all processes of a command together.

use crate::plan::Limits;
use crate::process::command::leftovers::claim::{abandoned, claim, name};
use crate::process::command::leftovers::pending::Trace;
use crate::tier::Mechanism;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Where this process may make groups, per kind of limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cgroups {
    memory: Option<PathBuf>,
    processes: Option<PathBuf>,
    cpu: Option<PathBuf>,
    unified: Option<PathBuf>,
    /// Left empty by earlier commands, for later ones: making and removing groups takes a third as long as starting a program.
    idle: Arc<Mutex<Vec<Folders>>>,
}

const MOST_IDLE: usize = 4;
const MOUNT: &str = "/sys/fs/cgroup";

impl Cgroups {
    /// Looks where groups can be made, by making one.
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

    /// Where groups are made.
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

    /// The groups of one command. What cannot be made is left to the limits of each process.
    pub(crate) fn make(&self, limits: &Limits) -> Group {
        let bounds = Bounds {
            memory: limits.memory_bytes,
            processes: limits.processes.saturating_add(1),
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // Those of another plan are given this one's bounds, which takes a fifth as long as making new ones.
        let is_whole = |folders: &Folders| {
            folders.memory == self.memory() && folders.processes == self.processes()
        };
        let at = idle
            .iter()
            .position(|folders| folders.bounds == bounds)
            .or_else(|| idle.iter().position(is_whole));
        let folders = at.map(|at| idle.remove(at));
        drop(idle);
        let folders = folders
            .and_then(|folders| folders.bounded(bounds))
            .unwrap_or_else(|| self.make_folders(bounds));
        Group {
            memory: folders.memory,
            processes: folders.processes,
            folders: Some(folders),
            idle: self.idle.clone(),
        }
    }

    fn make_folders(&self, bounds: Bounds) -> Folders {
        let name = name();
        let rlimit = Mechanism::Rlimit;
        let mut made = Folders {
            paths: Vec::new(),
            kinds: Vec::new(),
            claimed: Vec::new(),
            doors: Vec::new(),
            bounds,
            memory: rlimit,
            processes: rlimit,
            used: Used::default(),
            trace: None,
        };
        if let Some(parent) = &self.unified {
            if made.add(parent, &name, Kind::Unified).is_ok() {
                (made.memory, made.processes) = (Mechanism::Cgroup2, Mechanism::Cgroup2);
            }
            return made;
        }
        if let Some(parent) = &self.memory
            && made.add(parent, &name, Kind::Memory).is_ok()
        {
            made.memory = Mechanism::Cgroup1;
        }
        if let Some(parent) = &self.processes
            && made.add(parent, &name, Kind::Processes).is_ok()
        {
            made.processes = Mechanism::Cgroup1;
        }
        made
    }
}

/// What a group holds its processes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    memory: u64,
    processes: u64,
}

/// What a group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Everything, in the second version.
    Unified,
    /// One thing each, in the first.
    Memory,
    Processes,
}

impl Kind {
    /// The file by which a process enters.
    fn door(self) -> &'static str {
        match self {
            Self::Unified => "cgroup.procs",
            // The door for one thread. The helper is one; for a whole process the kernel would stop all others for a moment.
            Self::Memory | Self::Processes => "tasks",
        }
    }

    /// What is written to set these bounds, and whether a group without it will do. `before` is what was set.
    fn settings(self, bounds: Bounds, before: Option<Bounds>) -> Vec<(&'static str, u64, Need)> {
        let Bounds { memory, processes } = bounds;
        match self {
            Self::Unified => {
                let first = [
                    ("memory.max", memory, Need::Must),
                    ("pids.max", processes, Need::Must),
                ];
                let swap = before
                    .is_none()
                    .then_some(("memory.swap.max", 0, Need::May));
                first.into_iter().chain(swap).collect()
            }
            Self::Memory => {
                let mut all = vec![
                    ("memory.limit_in_bytes", memory, Need::Must),
                    ("memory.memsw.limit_in_bytes", memory, Need::May),
                ];
                // Memory alone may never be given more than memory and swap together.
                if before.is_some_and(|before| before.memory < memory) {
                    all.reverse();
                }
                all
            }
            Self::Processes => vec![("pids.max", processes, Need::Must)],
        }
    }
}

/// Whether a setting may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Must,
    May,
}

/// Sets a group's bounds.
fn set(folder: &Path, kind: Kind, bounds: Bounds, before: Option<Bounds>) -> io::Result<()> {
    for (file, value, need) in kind.settings(bounds, before) {
        // The file is there already, and not made.
        let set = OpenOptions::new()
            .write(true)
            .open(folder.join(file))
            .and_then(|mut file| file.write_all(value.to_string().as_bytes()));
        if need == Need::Must {
            set?;
        }
    }
    Ok(())
}

/// What was counted in a group before this command.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    kills: u64,
    cpu: Duration,
}

/// The groups of one command; kept for another, or removed, when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    folders: Option<Folders>,
    idle: Arc<Mutex<Vec<Folders>>>,
    pub(crate) memory: Mechanism,
    pub(crate) processes: Mechanism,
}

/// Groups that exist; removed when dropped.
#[derive(Debug)]
struct Folders {
    paths: Vec<PathBuf>,
    /// What each of them holds.
    kinds: Vec<Kind>,
    claimed: Vec<File>,
    doors: Vec<File>,
    bounds: Bounds,
    memory: Mechanism,
    processes: Mechanism,
    used: Used,
    /// Until they are removed.
    trace: Option<Trace>,
}

impl Group {
    /// Whether there is none.
    pub(crate) fn is_none(&self) -> bool {
        self.folders
            .as_ref()
            .is_none_or(|folders| folders.paths.is_empty())
    }

    /// What a process writes `0` to in order to enter.
    pub(crate) fn doors(&self) -> &[File] {
        self.folders.as_ref().map_or(&[], |folders| &folders.doors)
    }

    /// Whether the kernel ended a process of this command for want of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        self.folders
            .as_ref()
            .is_some_and(|folders| folders.kills() > folders.used.kills)
    }

    /// Processor time of all processes together.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        let folders = self.folders.as_ref()?;
        Some(folders.cpu()?.saturating_sub(folders.used.cpu))
    }

    /// Ends whatever is inside, where the kernel can do that in one step.
    pub(crate) fn kill(&self) {
        for folder in self.folders.iter().flat_map(|folders| &folders.paths) {
            let _ = fs::write(folder.join("cgroup.kill"), "1");
        }
    }
}

impl Group {
    /// Ends whatever is inside one by one, and gives whether nobody was. A number counts only while its process is known to be in the group.
    pub(crate) fn kill_each(&self) -> bool {
        let folders = self.folders.iter().flat_map(|folders| &folders.paths);
        let inside =
            |folder: &PathBuf| fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        let mut is_empty = true;
        for folder in folders {
            let first = inside(folder);
            is_empty &= first.trim().is_empty();
            let number = |line: &str| Pid::from_raw(line.parse().ok()?);
            let opened: Vec<_> = first
                .lines()
                .filter_map(|line| {
                    Some((line, pidfd_open(number(line)?, PidfdFlags::empty()).ok()?))
                })
                .collect();
            // Who is still listed, now that it is held, is who was meant.
            let second = inside(folder);
            for (_, process) in opened
                .iter()
                .filter(|(line, _)| second.lines().any(|still| still == *line))
            {
                let _ = pidfd_send_signal(process, Signal::KILL);
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
        if folders.paths.is_empty() || !folders.are_empty() {
            return;
        }
        folders.used = Used {
            kills: folders.kills(),
            cpu: folders.cpu().unwrap_or_default(),
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(folders);
        let surplus = if idle.len() > MOST_IDLE {
            Some(idle.remove(0))
        } else {
            None
        };
        drop(idle);
        drop(surplus);
    }
}

impl Folders {
    /// The same groups with other bounds; `None`, and they are removed, when these cannot be set.
    fn bounded(mut self, bounds: Bounds) -> Option<Self> {
        let before = self.bounds;
        let mut groups = self.paths.iter().zip(&self.kinds);
        if bounds != before
            && !groups.all(|(folder, kind)| set(folder, *kind, bounds, Some(before)).is_ok())
        {
            return None;
        }
        self.bounds = bounds;
        Some(self)
    }

    fn add(&mut self, parent: &Path, name: &str, kind: Kind) -> io::Result<()> {
        let folder = parent.join(name);
        fs::create_dir(&folder)?;
        // Another harness may have met it before it was claimed.
        let claimed = claim(&folder).ok_or(io::ErrorKind::ResourceBusy)?;
        let set = set(&folder, kind, self.bounds, None);
        match set.and_then(|()| {
            OpenOptions::new()
                .write(true)
                .open(folder.join(kind.door()))
        }) {
            Ok(door) => self.doors.push(door),
            Err(cause) => {
                let _ = fs::remove_dir(&folder);
                return Err(cause);
            }
        }
        self.paths.push(folder);
        self.kinds.push(kind);
        self.trace.get_or_insert_with(|| Trace::of(None));
        self.claimed.push(claimed);
        Ok(())
    }

    fn are_empty(&self) -> bool {
        self.paths.iter().all(|folder| {
            fs::read(folder.join("cgroup.procs")).is_ok_and(|processes| processes.is_empty())
        })
    }

    fn kills(&self) -> u64 {
        let files = self.paths.iter().flat_map(|folder| {
            [
                folder.join("memory.oom_control"),
                folder.join("memory.events"),
            ]
        });
        let texts = files.filter_map(|file| fs::read_to_string(file).ok());
        texts
            .map(|text| {
                text.lines()
                    .filter_map(|line| line.strip_prefix("oom_kill ")?.parse::<u64>().ok())
                    .sum::<u64>()
            })
            .sum()
    }

    fn cpu(&self) -> Option<Duration> {
        let text = self
            .paths
            .iter()
            .find_map(|folder| fs::read_to_string(folder.join("cpu.stat")).ok())?;
        let micros = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "))?
            .parse()
            .ok()?;
        Some(Duration::from_micros(micros))
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        self.doors.clear();
        for folder in self.paths.drain(..) {
            // A process that ended an instant ago may still be counted.
            for _ in 0..50 {
                if fs::remove_dir(&folder).is_ok() || !folder.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

fn can_make(folder: &Path) -> bool {
    let probe = folder.join(name());
    fs::create_dir(&probe).is_ok() && fs::remove_dir(&probe).is_ok()
}

/// Whether groups below this one have limits for memory and processes, or can be given them.
fn is_delegated(folder: &Path) -> bool {
    let has = || {
        let enabled = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        ["memory", "pids"]
            .iter()
            .all(|name| enabled.split_whitespace().any(|found| found == *name))
    };
    has() || fs::write(folder.join("cgroup.subtree_control"), "+memory +pids").is_ok() && has()
}

/// Removes groups of a harness that was killed.
pub(crate) fn remove_stale(folder: &Path) {
    for (group, _claimed) in abandoned(folder) {
        let _ = fs::remove_dir(group);
    }
}
