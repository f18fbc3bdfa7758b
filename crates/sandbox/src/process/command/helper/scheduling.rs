//! When the helper has its turn.
//!
//! It has to run in time to end what keeps every processor busy, and hardly runs otherwise. So it asks for turns that are short, which is what
//! the kernel gives write_short_slices, whoever asks; as root it also comes before others. What it starts has turns like everybody's.

use super::block::{Block, Plain, SyscallList};
use crate::process::command::files::identity::{Identity, UserChange};

/// The longest the helper wants to run at a time, in nanoseconds: the shortest the kernel knows.
const SLICE_NANOS: u64 = 100_000;
const HIGHEST_PRIORITY: i32 = -20;

/// Whether what a process starts has turns like its own_priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildScheduling {
    Same,
    Normal,
}

/// The priority of this thread, which a helper starts with.
pub(crate) fn own_priority() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// The class of this thread, where it is one that comes after others: what a command is started with shall hold for it, too.
pub(crate) fn background_class() -> Option<i32> {
    // SAFETY: it only asks.
    let class = unsafe { libc::sched_getscheduler(0) };
    [libc::SCHED_BATCH, libc::SCHED_IDLE]
        .contains(&class)
        .then_some(class)
}

/// Asks for such turns for a helper that was just started.
pub(crate) fn request_short_slices(helper: libc::pid_t) {
    let attributes = attributes(own_priority(), ChildScheduling::Same);
    // SAFETY: what is attributes is as long as it says.
    unsafe { libc::syscall(libc::SYS_sched_setattr, helper, &raw const attributes, 0) };
}

fn attributes(priority: i32, children: ChildScheduling) -> [u64; 7] {
    const BYTES: u64 = 56;
    const RESET_ON_FORK: u64 = 1;
    let flags = if children == ChildScheduling::Normal {
        RESET_ON_FORK
    } else {
        0
    };
    // Size and policy, flags, the priorities of two kinds of policy, the length of a turn, and what is of no matter here.
    [
        BYTES,
        flags,
        u64::from(priority.cast_unsigned()),
        SLICE_NANOS,
        0,
        0,
        0,
    ]
}

/// Writes the operation that asks for such turns. Kernels before 6.12 know none, and a helper that gets none does without.
pub(crate) fn write_short_slices<Head: Plain>(
    block: &mut Block<Head>,
    list: &mut SyscallList,
    identity: &Identity,
    children: ChildScheduling,
) {
    let step = block.step("a turn in time");
    let priority = if identity.change == UserChange::None {
        own_priority()
    } else {
        HIGHEST_PRIORITY
    };
    let attributes = block.value(&attributes(priority, children));
    list.try_call(
        step,
        libc::SYS_sched_setattr,
        [0.into(), attributes.into(), 0.into()],
    );
}
