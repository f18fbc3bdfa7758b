//! Limits that a process carries with itself.

use crate::plan::Limits;
use crate::process::command::helper::block::{CommandBlock, List};

/// Which limits are held otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) memory: bool,
}

/// Writes the operations that set the limits. `others` are processes of the same user that count too.
pub(crate) fn limit(
    block: &mut CommandBlock,
    list: &mut List,
    limits: &Limits,
    held: Held,
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
    // Descriptors on their way count for all that a user runs, against the limit of whoever sends the next: the harness can have more than a command.
    let (files_now, most_files) = bounds(libc::RLIMIT_NOFILE);
    all.push((
        libc::RLIMIT_NOFILE,
        files_now.min(most_files / 2),
        most_files / 2,
    ));
    if !held.memory {
        // What a process can write to, rather than its address space: some runtimes reserve far more of that than they ever use.
        all.push((libc::RLIMIT_DATA, limits.memory_bytes, limits.memory_bytes));
    }
    // Nobody comes before everybody else, whatever the user may.
    all.extend(
        [libc::RLIMIT_RTPRIO, libc::RLIMIT_NICE]
            .into_iter()
            .filter(|resource| bounds(*resource).1 > 0)
            .map(|resource| (resource, 0, 0)),
    );
    for (resource, soft, hard) in all {
        // A limit that is lower already stays: raising it is not ours to do.
        let (_, most) = bounds(resource);
        let (soft, hard) = (soft.min(most), hard.min(most));
        let bound = block.value(&[soft, hard]);
        list.call(
            step,
            libc::SYS_prlimit64,
            [0.into(), resource.into(), bound.into(), 0.into()],
        );
    }
}

/// A limit of ours, and the most that it can be.
fn bounds(resource: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut now = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `now` is a place for the answer.
    if unsafe { libc::getrlimit(resource, &raw mut now) } == 0 {
        (now.rlim_cur, now.rlim_max)
    } else {
        (u64::MAX, u64::MAX)
    }
}
