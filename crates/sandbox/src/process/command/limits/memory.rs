//! Memory of all processes of a command together, without a cgroup.
//!
//! A resource limit counts what one process has alone. What processes share, in mappings or unnamed
//! files, counts for none of them; so the harness measures all of them now and then.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Where a command may have a private folder in memory.
const PRIVATE: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// How the kernel marks such a folder.
const TMPFS: i128 = 0x0102_1994;

/// What the kernel keeps for a file in such a folder, even an empty one: measured, 2.5 million of
/// them took 3.2 GB.
const FILE_RECORD: u64 = 1280;

/// Whether this kernel lists the children of a process.
pub(crate) fn can_look() -> bool {
    Path::new("/proc/thread-self/children").exists()
}

/// Whether the descendants of a process use more than `most` bytes.
pub(crate) fn exceeds(ancestor: libc::pid_t, most: u64) -> bool {
    let processes = descendants(ancestor);
    let files = unnamed_files(&processes) + private_folders(&processes);
    let total = |of: fn(libc::pid_t) -> u64| files + processes.iter().copied().map(of).sum::<u64>();
    // Counting adds a shared page for each process, and once more as part of a file, but it is
    // quick; only if that is too much are they measured exactly.
    total(counted) > most && total(|pid| share(pid).unwrap_or_else(|| counted(pid))) > most
}

fn descendants(ancestor: libc::pid_t) -> Vec<libc::pid_t> {
    let (mut found, mut next) = (vec![ancestor], 0);
    while let Some(pid) = found.get(next) {
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            let numbers = children.split_whitespace();
            found.extend(numbers.filter_map(|pid| pid.parse::<libc::pid_t>().ok()));
        }
        next += 1;
    }
    found
}

/// Memory of a process without files, in bytes, and its page tables.
fn counted(pid: libc::pid_t) -> u64 {
    sum(pid, "status", &["RssAnon:", "RssShmem:", "VmPTE:"]).unwrap_or(0)
}

/// The same, but only its share of shared memory, and no files. The kernel walks all of its memory
/// for this.
fn share(pid: libc::pid_t) -> Option<u64> {
    let anonymous = sum(pid, "smaps_rollup", &["Pss_Anon:"])? + sum(pid, "status", &["VmPTE:"])?;
    if sum(pid, "status", &["RssShmem:"])? == 0 {
        return Some(anonymous);
    }
    let (mut shared, mut is_shared) = (0, false);
    for line in fs::read_to_string(format!("/proc/{pid}/smaps"))
        .ok()?
        .lines()
    {
        if let Some(part) = line.strip_prefix("Pss:").filter(|_| is_shared) {
            shared += bytes(part).unwrap_or(0);
        } else if line.as_bytes().first().is_some_and(u8::is_ascii_hexdigit) {
            // Mappings without a file that are shared anyway.
            is_shared = [" /dev/zero", " /SYSV"]
                .iter()
                .any(|name| line.contains(name));
        }
    }
    Some(anonymous + shared)
}

/// Folders in memory that only the command has, in bytes.
fn private_folders(processes: &[libc::pid_t]) -> u64 {
    let device = |path: &str| fs::metadata(path).map(|facts| facts.dev()).ok();
    let mut seen: BTreeSet<u64> = PRIVATE.iter().filter_map(|path| device(path)).collect();
    let mut bytes = 0;
    // The youngest are inside; what started them may not be.
    for pid in processes.iter().rev().take(2) {
        for path in PRIVATE.map(|path| format!("/proc/{pid}/root{path}")) {
            if device(&path).is_some_and(|device| seen.insert(device))
                && let Ok(facts) = rustix::fs::statfs(path)
                && i128::from(facts.f_type) == TMPFS
            {
                bytes += facts.f_blocks.saturating_sub(facts.f_bfree)
                    * u64::try_from(facts.f_bsize).unwrap_or(0);
                bytes += facts.f_files.saturating_sub(facts.f_ffree) * FILE_RECORD;
            }
        }
    }
    bytes
}

fn sum(pid: libc::pid_t, file: &str, names: &[&str]) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
    let size = |name: &&str| {
        let mut lines = text.lines();
        lines.find_map(|line| bytes(line.strip_prefix(name)?))
    };
    Some(names.iter().filter_map(size).sum())
}

/// A size as the kernel writes it, in bytes.
fn bytes(text: &str) -> Option<u64> {
    let kilobytes: u64 = text.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Files in memory that only descriptors refer to, in bytes, each counted once.
fn unnamed_files(processes: &[libc::pid_t]) -> u64 {
    let descriptors = processes.iter().flat_map(|pid| {
        fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten()
    });
    let is_in_memory = |target: PathBuf| {
        let target = target.into_os_string();
        target.as_encoded_bytes().starts_with(b"/memfd:")
    };
    let in_memory = descriptors
        .map(|entry| entry.path())
        .filter(|path| fs::read_link(path).is_ok_and(is_in_memory));
    let mut seen = BTreeSet::new();
    let facts = in_memory.filter_map(|path| fs::metadata(path).ok());
    facts
        .filter(|facts| seen.insert((facts.dev(), facts.ino())))
        .map(|facts| facts.blocks() * 512)
        .sum()
}
