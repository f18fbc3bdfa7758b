//! Starting a program without standing still.
//!
//! `posix_spawn` waits until the new process executes its program, and asks the kernel about every signal there is before. Here the
//! new process shares our memory until then, as it does there, but has a stack of its own, and touches nothing but what was laid out for it
//! before: so we go on at once.

use super::child::Started;
use super::sys::{self, number};
use rustix::io::fcntl_dupfd_cloexec;
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};

/// The most descriptors that are given to a program.
const MOST_GIVEN: usize = 8;
const STACK: usize = 16 << 10;

/// What a new process uses until it executes its program.
#[repr(C, align(16))]
struct Room {
    stack: MaybeUninit<[u8; STACK]>,
    program: *const libc::c_char,
    arguments: [*const libc::c_char; 2],
    environment: [*const libc::c_char; 1],
    given: [i32; MOST_GIVEN],
    count: usize,
    /// Where and how it is said that the program cannot be executed; the error is put at the end.
    told: i32,
    words: [u32; 3],
}

/// The memory of a process that may not have executed its program yet. It is left where it is unless that process is known to be gone.
#[derive(Debug)]
pub(super) struct Left(NonNull<Room>);

// SAFETY: nobody looks into it but the process it was laid out for, and whoever frees it.
unsafe impl Send for Left {}
// SAFETY: as above.
unsafe impl Sync for Left {}

impl Left {
    /// Frees the memory.
    ///
    /// # Safety
    /// The process has executed its program, or is gone.
    pub(super) unsafe fn free(self) {
        // SAFETY: it was a box when it was laid out, and by the caller's promise nobody uses it any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Starts a program with its own path as its only word, an empty environment, in `/`, in a session of its own, with every signal held back. It has these
/// descriptors, numbered from 0, and no others. When it cannot be executed, the process writes `words`, with the error as the last of them, to the
/// descriptor numbered `told`.
pub(super) fn branch(
    program: &'static CStr,
    given: &[BorrowedFd<'_>],
    told: i32,
    words: [u32; 3],
) -> io::Result<(Started, Left)> {
    // Above every number they will get, so that no copy overwrites one that is still needed.
    let above = i32::try_from(given.len()).unwrap_or(i32::MAX);
    let mut moved: Vec<OwnedFd> = Vec::new();
    let mut numbers = [0; MOST_GIVEN];
    if given.len() > numbers.len() {
        return Err(io::ErrorKind::ArgumentListTooLong.into());
    }
    for (number, end) in numbers.iter_mut().zip(given) {
        *number = end.as_raw_fd();
        if *number < above {
            let copy = fcntl_dupfd_cloexec(end, above)?;
            *number = copy.as_raw_fd();
            moved.push(copy);
        }
    }
    let room = Box::new(Room {
        stack: MaybeUninit::uninit(),
        program: program.as_ptr(),
        arguments: [program.as_ptr(), ptr::null()],
        environment: [ptr::null()],
        given: numbers,
        count: given.len(),
        told,
        words,
    });
    let room = NonNull::from(Box::leak(room));
    let left = Left(room);
    let mut pidfd = -1;
    let flags = libc::CLONE_VM | libc::CLONE_PIDFD | libc::SIGCHLD;
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are filled before they are read. The stack ends at a multiple of 16, because the room starts at one and the stack has such
    // a length. The room is the child's alone until it is freed, and `in_room` uses no thread-local memory. A signal that comes
    // meanwhile is held back in both, so no handler of ours runs in the child.
    let pid = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let top = room.as_ptr() as u64 + STACK as u64;
        let pid = sys::branch(
            u64::from(flags.cast_unsigned()),
            top,
            &raw mut pidfd as u64,
            in_room,
            room.as_ptr() as u64,
        );
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        pid
    };
    if pid < 0 {
        // SAFETY: there is no process.
        unsafe { left.free() };
        return Err(io::Error::from_raw_os_error(
            i32::try_from(-pid).unwrap_or(libc::EIO),
        ));
    }
    // SAFETY: the kernel just gave out this descriptor, to us alone.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok((
        Started {
            pid: i32::try_from(pid).unwrap_or(0),
            pidfd,
        },
        left,
    ))
}

/// What the new process does. It allocates nothing, calls nothing of the C library's, and does not come back.
extern "C" fn in_room(room: u64) -> ! {
    const SIZE: u64 = 8;
    const SIGNALS: u64 = 64;
    // SAFETY: the room that was laid out for this process, which nobody else uses until it has executed its program.
    let room = unsafe { &mut *(room as *mut Room) };
    // A handler, flags, a function to return through and a mask, as the kernel has them: all of them nothing.
    let ordinary = [0_u64; 4];
    // SAFETY: each pointer leads to what the call takes, in the room or on this stack.
    let code = unsafe {
        sys::call(number::SETSID, [0; 6]);
        // What is ignored here would stay so in a new program, and a host may come to ignore anything at any time.
        let mut signal = 1;
        while signal <= SIGNALS {
            sys::call(
                number::RT_SIGACTION,
                [signal, &raw const ordinary as u64, 0, SIZE, 0, 0],
            );
            signal += 1;
        }
        let mut next = 0;
        for given in room.given.iter().take(room.count) {
            sys::call(
                number::DUP3,
                [given.cast_unsigned().into(), next, 0, 0, 0, 0],
            );
            next += 1;
        }
        sys::call(number::CLOSE_RANGE, [next, u32::MAX.into(), 0, 0, 0, 0]);
        sys::call(number::CHDIR, [c"/".as_ptr() as u64, 0, 0, 0, 0, 0]);
        let (arguments, environment) = (
            &raw const room.arguments as u64,
            &raw const room.environment as u64,
        );
        sys::call(
            number::EXECVE,
            [room.program as u64, arguments, environment, 0, 0, 0],
        )
    };
    room.words[2] = i32::try_from(-code).unwrap_or(libc::EIO).cast_unsigned();
    // SAFETY: the words are as long as said; the other call takes no pointer.
    unsafe {
        sys::call(
            number::WRITE,
            [
                room.told.cast_unsigned().into(),
                &raw const room.words as u64,
                size_of_val(&room.words) as u64,
                0,
                0,
                0,
            ],
        );
        loop {
            sys::call(number::EXIT_GROUP, [127, 0, 0, 0, 0, 0]);
        }
    }
}
