//! Resource limits of each process.

use crate::plan::Limits;
use crate::process::command::helper::block::{CommandBlock, SyscallList};
use crate::tier::Mechanism;
use rustix::process::{Resource, getrlimit};

/// Writes the operations that set the limits. `memory` is what limits memory, and `others` are
/// other processes of the same user that the process limit counts.
pub(crate) fn limit(
    block: &mut CommandBlock,
    list: &mut SyscallList,
    limits: &Limits,
    memory: Mechanism,
    others: u64,
) {
    list.begin(block.step("limits"));
    let seconds = limits.cpu.as_secs() + u64::from(limits.cpu.subsec_nanos() > 0);
    let seconds = seconds.max(1);
    let processes = limits.processes.saturating_add(others);
    // Descriptors in flight count for all processes of a user, against the limit of the next
    // sender: the harness can have more than a command.
    let (files_now, most_files) = bounds(Resource::Nofile);
    let files = most_files / 2;
    let mut all = vec![
        (Resource::Core, 0, 0),
        (Resource::Cpu, seconds, seconds.saturating_add(1)),
        (Resource::Fsize, limits.file_bytes, limits.file_bytes),
        (Resource::Nproc, processes, processes),
        (Resource::Nofile, files_now.min(files), files),
    ];
    if memory == Mechanism::Rlimit {
        // Limits the data segment, not the address space: some runtimes reserve far more of that
        // than they use.
        all.push((Resource::Data, limits.memory_bytes, limits.memory_bytes));
    }
    // No command gets priority over others, even if the user could.
    for resource in [Resource::Rtprio, Resource::Nice] {
        if bounds(resource).1 > 0 {
            all.push((resource, 0, 0));
        }
    }
    for (resource, soft, hard) in all {
        // Lower limits stay: we never raise one.
        let (_, most) = bounds(resource);
        let bound = block.words(&[soft.min(most), hard.min(most)]);
        list.call(libc::SYS_prlimit64, &[&0, &(resource as u32), &bound]);
    }
}

/// Our own limit, and its maximum.
fn bounds(resource: Resource) -> (u64, u64) {
    let now = getrlimit(resource);
    let or_infinite = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
    (or_infinite(now.current), or_infinite(now.maximum))
}
