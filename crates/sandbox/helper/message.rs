//! Messages on sockets, with the descriptors they pass.

use crate::layout::{CONTROL, MOST_PASSED};
use crate::sys::{self, number};

pub(crate) const EINTR: i64 = -4;

pub(crate) type Passed = [i32; MOST_PASSED];

/// The next message of the harness: its kind, and the number of descriptors it passes.
pub(crate) fn receive(passed: &mut Passed) -> Option<(u8, usize)> {
    let mut words = [0_u8; 8];
    match receive_message(CONTROL, &mut words, passed)? {
        (1, count @ 1..) => Some((words[0], count)),
        _ => None,
    }
}

/// The next message on a socket: how many bytes it has, and how many descriptors it passes. `None`
/// if there will be none.
pub(crate) fn receive_message(
    socket: i32,
    words: &mut [u8; 8],
    passed: &mut Passed,
) -> Option<(usize, usize)> {
    const HEAD: u64 = 16;
    const SOCKET_RIGHTS: u64 = 1 | 1 << 32;
    const CLOSE_ON_EXEC: u64 = 0x4000_0000;
    let part = [words.as_mut_ptr() as u64, words.len() as u64];
    let mut rights = [0_u64; 2 + MOST_PASSED.div_ceil(2)];
    loop {
        let mut message = [
            0,
            0,
            &raw const part as u64,
            1,
            &raw mut rights as u64,
            size_of_val(&rights) as u64,
            0,
        ];
        let args = [socket as u64, &raw mut message as u64, CLOSE_ON_EXEC];
        // SAFETY: the message points to as much space as it says, all of it live.
        let bytes = unsafe { sys::call(number::RECVMSG, args) };
        if bytes == EINTR {
            continue;
        }
        if bytes <= 0 {
            return None;
        }
        let mut count = 0;
        if rights[1] == SOCKET_RIGHTS && rights[0] >= HEAD {
            count = ((rights[0] - HEAD) as usize / size_of::<i32>()).min(MOST_PASSED);
        }
        for (at, passed) in passed[..count].iter_mut().enumerate() {
            *passed = (rights[2 + at / 2] >> (32 * (at % 2))) as i32;
        }
        return Some((bytes as usize, count));
    }
}
