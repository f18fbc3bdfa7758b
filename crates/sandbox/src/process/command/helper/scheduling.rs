//! When the helper is scheduled.
//!
//! It must run in time to end a command that keeps every processor busy, and hardly runs otherwise.
//! So it asks for short time slices, which the kernel schedules early for any user; as root it also
//! gets a higher priority. What it starts is scheduled normally.

use super::block::{Block, Plain, SyscallList};
use crate::process::command::files::identity::{Identity, UserChange};

/// The longest time slice the helper wants, in nanoseconds: the shortest the kernel offers.
const SLICE_NANOS: u64 = 100_000;
const HIGHEST_PRIORITY: i32 = -20;

/// Whether children are scheduled like their parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChildScheduling {
    Same,
    Normal,
}

/// The priority of this thread, with which a helper starts.
pub(crate) fn own_priority() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// The scheduling class of this thread, if it is a background class, which a command should
/// inherit.
pub(crate) fn background_class() -> Option<i32> {
    // SAFETY: it only reads.
    let class = unsafe { libc::sched_getscheduler(0) };
    [libc::SCHED_BATCH, libc::SCHED_IDLE]
        .contains(&class)
        .then_some(class)
}

/// Requests short slices for a helper that was just started.
pub(crate) fn request_short_slices(helper: libc::pid_t) {
    let attributes = attributes(own_priority(), ChildScheduling::Same);
    // SAFETY: the attributes have the length that they state.
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
    // Size and policy, flags, the priorities of two policies, the time slice, and unused fields.
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

/// Writes the operation that requests short slices. Kernels before 6.12 do not offer them, and the
/// helper does without.
pub(crate) fn write_short_slices<Head: Plain>(
    block: &mut Block<Head>,
    list: &mut SyscallList,
    identity: &Identity,
    children: ChildScheduling,
) {
    list.begin(block.step("a turn in time"));
    let priority = if identity.change == UserChange::None {
        own_priority()
    } else {
        HIGHEST_PRIORITY
    };
    let attributes = block.words(&attributes(priority, children));
    list.call(libc::SYS_sched_setattr, &[&0, &attributes])
        .may_fail();
}
