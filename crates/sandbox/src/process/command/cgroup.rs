//! Control groups, which hold a limit for all processes of a command together.

use crate::plan::Limits;
use crate::tier::Mechanism;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where this process may make groups, per kind of limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Cgroups {
    memory: Option<PathBuf>,
    processes: Option<PathBuf>,
    cpu: Option<PathBuf>,
    unified: Option<PathBuf>,
}

const MOUNT: &str = "/sys/fs/cgroup";
static NEXT: AtomicU64 = AtomicU64::new(0);

impl Cgroups {
    /// Looks where groups can be made, by making one.
    pub(super) fn find() -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut found = Self::default();
        for line in own.lines() {
            let mut parts = line.splitn(3, ':');
            let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
            let path = path.trim_start_matches('/');
            if controllers.is_empty() {
                let mounts = [Path::new(MOUNT).to_path_buf(), Path::new(MOUNT).join("unified")];
                let mount = mounts.into_iter().find(|mount| mount.join("cgroup.controllers").exists());
                found.unified = mount.map(|mount| mount.join(path)).filter(|folder| is_delegated(folder) && can_make(folder));
            }
            let place = |name: &str| Some(Path::new(MOUNT).join(name).join(path)).filter(|folder| can_make(folder));
            for controller in controllers.split(',') {
                match controller {
                    "memory" => found.memory = place("memory"),
                    "pids" => found.processes = place("pids"),
                    "cpuacct" => found.cpu = place("cpuacct").or_else(|| place("cpu,cpuacct")),
                    _ => {}
                }
            }
        }
        [&found.memory, &found.processes, &found.cpu, &found.unified].into_iter().flatten().for_each(|folder| remove_stale(folder));
        found
    }

    pub(super) fn memory(&self) -> Mechanism {
        self.mechanism(self.memory.as_ref())
    }

    pub(super) fn processes(&self) -> Mechanism {
        self.mechanism(self.processes.as_ref())
    }

    fn mechanism(&self, first: Option<&PathBuf>) -> Mechanism {
        match (&self.unified, first) {
            (Some(_), _) => Mechanism::Cgroup2,
            (None, Some(_)) => Mechanism::Cgroup1,
            (None, None) => Mechanism::Rlimit,
        }
    }

    /// Makes the groups of one command. What cannot be made is left to the limits of each process.
    pub(super) fn make(&self, limits: &Limits) -> Group {
        let name = format!("harness-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let mut group = Group { folders: Vec::new(), memory: Mechanism::Rlimit, processes: Mechanism::Rlimit };
        let (memory, processes) = (limits.memory_bytes.to_string(), limits.processes.saturating_add(2).to_string());
        if let Some(parent) = &self.unified {
            let settings = [("memory.max", memory.as_str()), ("pids.max", &processes), ("memory.swap.max", "0")];
            if group.add(parent, &name, &settings[..2], &settings[2..]).is_ok() {
                (group.memory, group.processes) = (Mechanism::Cgroup2, Mechanism::Cgroup2);
            }
            return group;
        }
        if let Some(parent) = &self.memory {
            let swap = [("memory.memsw.limit_in_bytes", memory.as_str())];
            if group.add(parent, &name, &[("memory.limit_in_bytes", memory.as_str())], &swap).is_ok() {
                group.memory = Mechanism::Cgroup1;
            }
        }
        if let Some(parent) = &self.processes
            && group.add(parent, &name, &[("pids.max", &processes)], &[]).is_ok()
        {
            group.processes = Mechanism::Cgroup1;
        }
        group
    }
}

/// The groups of one command; removed when dropped.
#[derive(Debug)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
    pub(super) memory: Mechanism,
    pub(super) processes: Mechanism,
}

impl Group {
    fn add(&mut self, parent: &Path, name: &str, needed: &[(&str, &str)], wished: &[(&str, &str)]) -> io::Result<()> {
        let folder = parent.join(name);
        fs::create_dir(&folder)?;
        let set = needed.iter().try_for_each(|(file, value)| fs::write(folder.join(file), value));
        if set.is_err() {
            let _ = fs::remove_dir(&folder);
            return set;
        }
        for (file, value) in wished {
            let _ = fs::write(folder.join(file), value);
        }
        self.folders.push(folder);
        Ok(())
    }

    /// What a process writes `0` to in order to enter.
    pub(super) fn doors(&self) -> io::Result<Vec<File>> {
        self.folders.iter().map(|folder| OpenOptions::new().write(true).open(folder.join("cgroup.procs"))).collect()
    }

    /// Whether the kernel ended a process here for want of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let files = self.folders.iter().flat_map(|folder| [folder.join("memory.oom_control"), folder.join("memory.events")]);
        let texts = files.filter_map(|file| fs::read_to_string(file).ok());
        texts.into_iter().any(|text| text.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count != "0"))
    }

    /// Processor time of all processes together.
    pub(super) fn cpu_time(&self) -> Option<Duration> {
        let text = self.folders.iter().find_map(|folder| fs::read_to_string(folder.join("cpu.stat")).ok())?;
        let micros = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?.parse().ok()?;
        Some(Duration::from_micros(micros))
    }

    /// Ends whatever is inside, where the kernel can do that in one step.
    pub(super) fn kill(&self) {
        for folder in &self.folders {
            let _ = fs::write(folder.join("cgroup.kill"), "1");
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in self.folders.drain(..) {
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
    let probe = folder.join(format!("harness-{}-probe-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
    fs::create_dir(&probe).is_ok() && fs::remove_dir(&probe).is_ok()
}

/// Whether groups below this one have limits for memory and processes, or can be given them.
fn is_delegated(folder: &Path) -> bool {
    let has = || {
        let enabled = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        ["memory", "pids"].iter().all(|name| enabled.split_whitespace().any(|found| found == *name))
    };
    has() || fs::write(folder.join("cgroup.subtree_control"), "+memory +pids").is_ok() && has()
}

/// Removes groups of a harness that was killed.
fn remove_stale(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("harness-")).and_then(|rest| rest.split('-').next()).map(str::to_owned);
        if owner.is_some_and(|owner| owner.parse::<u32>().is_ok() && !Path::new("/proc").join(owner).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
