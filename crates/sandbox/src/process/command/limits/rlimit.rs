//! Resource limits of each process.

use crate::plan::Limits;
use crate::process::command::helper::block::{CommandBlock, SyscallList};
use crate::tier::Mechanism;

/// Writes the operations that set the limits. `memory` is what limits memory, and `others` are
/// other processes of the same user that the process limit counts.
pub(crate) fn limit(
    block: &mut CommandBlock,
    list: &mut SyscallList,
    limits: &Limits,
    memory: Mechanism,
    others: u64,
) {
    let step = block.step("limits");
    let seconds = limits.cpu.as_secs() + u64::from(limits.cpu.subsec_nanos() > 0);
    let mut all = vec![
        (libc::RLIMIT_CORE, 0, 0),
        (
            libc::RLIMIT_CPU,
            seconds.max(1),
            seconds.max(1).saturating_add(1),
        ),
        (libc::RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes),
        (
            libc::RLIMIT_NPROC,
            limits.processes.saturating_add(others),
            limits.processes.saturating_add(others),
        ),
    ];
    // Descriptors in flight count for all processes of a user, against the limit of the next
    // sender: the harness can have more than a command.
    let (files_now, most_files) = bounds(libc::RLIMIT_NOFILE);
    all.push((
        libc::RLIMIT_NOFILE,
        files_now.min(most_files / 2),
        most_files / 2,
    ));
    if memory == Mechanism::Rlimit {
        // Limits the data segment, not the address space: some runtimes reserve far more of that
        // than they use.
        all.push((libc::RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes));
    }
    // No command gets priority over others, even if the user could.
    all.extend(
        [libc::RLIMIT_RTPRIO, libc::RLIMIT_NICE]
            .into_iter()
            .filter(|resource| bounds(*resource).1 > 0)
            .map(|resource| (resource, 0, 0)),
    );
    for (resource, soft, hard) in all {
        // Lower limits stay: we never raise one.
        let (_, most) = bounds(resource);
        let (soft, hard) = (soft.min(most), hard.min(most));
        let bound = block.value(&[soft, hard]);
        list.call(
            step,
            libc::SYS_prlimit64,
            [0.into(), resource.into(), bound.into()],
        );
    }
}

/// Our own limit, and its maximum.
fn bounds(resource: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut now = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `now` is writable.
    if unsafe { libc::getrlimit(resource, &raw mut now) } == 0 {
        (now.rlim_cur, now.rlim_max)
    } else {
        (u64::MAX, u64::MAX)
    }
}
