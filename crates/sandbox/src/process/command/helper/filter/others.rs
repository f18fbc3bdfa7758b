//! System calls that change another process: its limits, and its scheduling.
//!
//! The kernel lets a process do that to every other one of its user. In namespaces the others
//! belong to the command, except the first: it must be able to end everything. Without namespaces
//! they may be anyone's, including the helper's, and a filter cannot tell whose number it is: there
//! a process can change only itself, by the number 0.

use super::{EQUAL, Instruction, Sockets, argument, give, load, number, refuse, test};

/// The first process of a namespace.
const FIRST: u32 = 1;
/// Means the caller.
const ITSELF: u32 = 0;

/// Calls whose first argument is the process they change.
const CHANGE: &[libc::c_long] = &[
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setaffinity,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

pub(super) fn others(sockets: Sockets) -> Vec<(u32, Vec<Instruction>)> {
    const IOPRIO_USER: u32 = 3;
    let (cpu, io) = (libc::PRIO_USER, IOPRIO_USER);
    let mut leaves = vec![
        (number(libc::SYS_prlimit64), limits(sockets)),
        (number(libc::SYS_setpriority), priority(sockets, cpu)),
        (number(libc::SYS_ioprio_set), priority(sockets, io)),
        // What it sets is in memory, where a filter cannot look: among others, time slices so short
        // that they always come first.
        (number(libc::SYS_sched_setattr), refuse(libc::ENOSYS)),
    ];
    leaves.extend(CHANGE.iter().map(|&call| (number(call), whom(sockets, 0))));
    leaves
}

fn whom(sockets: Sockets, index: u32) -> Vec<Instruction> {
    let (yes, no) = refused_unless(sockets);
    vec![
        load(argument(index)),
        test(EQUAL, meant(sockets), yes, no),
        refuse(libc::EPERM)[0],
        give(super::ALLOW),
    ]
}

/// A process, a process group, or all of a user. The last includes the helper; a group does not,
/// because the command starts in its own.
fn priority(sockets: Sockets, all_of_a_user: u32) -> Vec<Instruction> {
    let mut list = vec![load(argument(0)), test(EQUAL, all_of_a_user, 2, 0)];
    list.extend(whom(sockets, 1));
    list
}

/// The jumps of the test for [`meant`], when a refusal comes next and then an allowance.
fn refused_unless(sockets: Sockets) -> (u8, u8) {
    match sockets {
        Sockets::Namespace => (0, 1),
        Sockets::None => (1, 0),
    }
}

/// Anyone may read limits; only those that may change a process set them.
fn limits(sockets: Sockets) -> Vec<Instruction> {
    const NEW: u32 = 2;
    let (yes, no) = match sockets {
        Sockets::Namespace => (0, 5),
        Sockets::None => (5, 0),
    };
    vec![
        load(argument(0)),
        test(EQUAL, meant(sockets), yes, no),
        load(argument(NEW)),
        test(EQUAL, 0, 0, 2),
        load(argument(NEW) + 4),
        test(EQUAL, 0, 1, 0),
        refuse(libc::EPERM)[0],
        give(super::ALLOW),
    ]
}

/// The process number that a rule is about: the one that must not be changed, or the only one that
/// may be.
fn meant(sockets: Sockets) -> u32 {
    match sockets {
        Sockets::Namespace => FIRST,
        Sockets::None => ITSELF,
    }
}
