//! When the helper has its turn.
//!
//! It has to run in time to end what keeps every processor busy, and hardly runs otherwise. So it asks for turns that are short, which is what
//! the kernel gives early, whoever asks; as root it also comes before others. What it starts has turns like everybody's.

use super::block::{Block, List, Plain};
use crate::process::command::files::identity::{Change, Identity};

/// The longest the helper wants to run at a time, in nanoseconds: the shortest the kernel knows.
const SHORT: u64 = 100_000;
const FIRST_OF_ALL: i32 = -20;

/// Whether what a process starts has turns like its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Children {
    Alike,
    Ordinary,
}

/// The priority of this thread, which a helper starts with.
pub(crate) fn own() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// The class of this thread, where it is one that comes after others: what a command is started with shall hold for it, too.
pub(crate) fn patient() -> Option<i32> {
    // SAFETY: it only asks.
    let class = unsafe { libc::sched_getscheduler(0) };
    [libc::SCHED_BATCH, libc::SCHED_IDLE]
        .contains(&class)
        .then_some(class)
}

/// Asks for such turns for a helper that was just started.
pub(crate) fn give(helper: libc::pid_t) {
    let wanted = wanted(own(), Children::Alike);
    // SAFETY: what is wanted is as long as it says.
    unsafe { libc::syscall(libc::SYS_sched_setattr, helper, &raw const wanted, 0) };
}

fn wanted(priority: i32, children: Children) -> [u64; 7] {
    const BYTES: u64 = 56;
    const RESET_ON_FORK: u64 = 1;
    let flags = if children == Children::Ordinary {
        RESET_ON_FORK
    } else {
        0
    };
    // Size and policy, flags, the priorities of two kinds of policy, the length of a turn, and what is of no matter here.
    [
        BYTES,
        flags,
        u64::from(priority.cast_unsigned()),
        SHORT,
        0,
        0,
        0,
    ]
}

/// Writes the operation that asks for such turns. Kernels before 6.12 know none, and a helper that gets none does without.
pub(crate) fn early<Head: Plain>(
    block: &mut Block<Head>,
    list: &mut List,
    identity: &Identity,
    children: Children,
) {
    let step = block.step("a turn in time");
    let priority = if identity.change == Change::None {
        own()
    } else {
        FIRST_OF_ALL
    };
    let wanted = block.value(&wanted(priority, children));
    list.try_call(
        step,
        libc::SYS_sched_setattr,
        [0.into(), wanted.into(), 0.into()],
    );
}
