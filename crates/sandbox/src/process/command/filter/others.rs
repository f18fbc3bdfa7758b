//! Calls that change another process: what it may use, and when it has its turn.
//!
//! The kernel lets a process do that to every other one of its user. In namespaces the others are the command's own, but the first is not: it
//! ends everything when that must be. Without namespaces they may be anybody's, the helper among them, and a filter cannot tell which number
//! is whose: there a process changes itself, by the number 0, and nobody else.

use super::{EQUAL, Instruction, Sockets, argument, give, load, number, refuse, test};

/// The first process of a namespace.
const FIRST: u32 = 1;
/// Stands for whoever calls.
const ITSELF: u32 = 0;

pub(super) fn others(sockets: Sockets) -> Vec<(u32, Vec<Instruction>)> {
    vec![(number(libc::SYS_prlimit64), limits(sockets))]
}

/// Limits are looked at freely, and set only by those who may.
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

/// The number that a rule is about: who must not be changed, or who alone may be.
fn meant(sockets: Sockets) -> u32 {
    match sockets {
        Sockets::Namespace => FIRST,
        Sockets::None => ITSELF,
    }
}
