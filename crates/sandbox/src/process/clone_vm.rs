//! Starting a program without waiting for it.
//!
//! `posix_spawn` blocks until the new process executes its program, and first asks the kernel about
//! every signal. Here the new process also shares our memory until then, but has a stack of its own
//! and touches only memory prepared for it, so we continue at once.

use super::child::{ChildProcess, move_above};
use super::sys::{self, number};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};

/// The most descriptors a program can be given.
const MAX_DESCRIPTORS: usize = 8;
const STACK: usize = 16 << 10;

/// What a new process uses until it executes its program.
#[repr(C, align(16))]
struct LaunchArea {
    stack: MaybeUninit<[u8; STACK]>,
    program: *const libc::c_char,
    arguments: [*const libc::c_char; 2],
    environment: [*const libc::c_char; 1],
    descriptors: [i32; MAX_DESCRIPTORS],
    count: usize,
    /// Where to report that the program cannot be executed, and the report; the error goes at its
    /// end.
    report_to: i32,
    report: [u32; 3],
}

/// The memory of a process that may not have executed its program yet. It leaks unless that process
/// is known to be gone.
#[derive(Debug)]
pub(super) struct LaunchMemory(NonNull<LaunchArea>);

// SAFETY: only the process it was prepared for and the code that frees it access it.
unsafe impl Send for LaunchMemory {}
// SAFETY: as above.
unsafe impl Sync for LaunchMemory {}

impl LaunchMemory {
    /// Frees the memory.
    ///
    /// # Safety
    /// The process has executed its program, or is gone.
    pub(super) unsafe fn free(self) {
        // SAFETY: it was a box when it was prepared, and the caller promises that nothing uses it
        // any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Starts a program with its own path as its only argument, an empty environment, in `/`, in a
/// session of its own, with every signal blocked. It has these descriptors, numbered from 0, and no
/// others. If the program cannot be executed, the process writes `report`, with the error as its
/// last word, to the descriptor numbered `report_to`.
pub(super) fn clone_vm(
    program: &'static CStr,
    descriptors: &[BorrowedFd<'_>],
    report_to: i32,
    report: [u32; 3],
) -> io::Result<(ChildProcess, LaunchMemory)> {
    let (_copies, above) = move_above(descriptors)?;
    let mut numbers = [0; MAX_DESCRIPTORS];
    let taken = numbers
        .get_mut(..above.len())
        .ok_or(io::ErrorKind::ArgumentListTooLong)?;
    taken.copy_from_slice(&above);
    let area = Box::new(LaunchArea {
        stack: MaybeUninit::uninit(),
        program: program.as_ptr(),
        arguments: [program.as_ptr(), ptr::null()],
        environment: [ptr::null()],
        descriptors: numbers,
        count: descriptors.len(),
        report_to,
        report,
    });
    let area = NonNull::from(Box::leak(area));
    let memory = LaunchMemory(area);
    let mut pidfd = -1;
    let flags = libc::CLONE_VM | libc::CLONE_PIDFD | libc::SIGCHLD;
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets are filled before they are read. The stack ends at a multiple of 16,
    // because the area starts at one and the stack has such a length. The area is the child's alone
    // until it is freed, and `run_child` uses no thread-local memory. Signals are blocked in both,
    // so no handler of ours runs in the child.
    let pid = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let top = area.as_ptr() as u64 + STACK as u64;
        let pid = sys::clone_vm(
            u64::from(flags.cast_unsigned()),
            top,
            &raw mut pidfd as u64,
            run_child,
            area.as_ptr() as u64,
        );
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
        pid
    };
    if pid < 0 {
        // SAFETY: there is no process.
        unsafe { memory.free() };
        return Err(io::Error::from_raw_os_error(
            i32::try_from(-pid).unwrap_or(libc::EIO),
        ));
    }
    // SAFETY: the kernel just handed out this descriptor, to us alone.
    let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
    Ok((
        ChildProcess {
            pid: i32::try_from(pid).unwrap_or(0),
            pidfd,
        },
        memory,
    ))
}

/// The new process. It allocates nothing, calls nothing in the C library, and does not return.
extern "C" fn run_child(area: u64) -> ! {
    const SIZE: u64 = 8;
    const SIGNALS: u64 = 64;
    // SAFETY: the area was prepared for this process, and nothing else uses it until the program is
    // executed.
    let area = unsafe { &mut *(area as *mut LaunchArea) };
    // A handler, flags, a restorer and a mask, in the kernel's layout: the defaults.
    let ordinary = [0_u64; 4];
    // SAFETY: each pointer points to what the call takes, in the area or on this stack.
    let code = unsafe {
        sys::call(number::SETSID, []);
        // A new program inherits ignored signals, and a host may ignore any of them at any time.
        for signal in 1..=SIGNALS {
            sys::call(
                number::RT_SIGACTION,
                [signal, &raw const ordinary as u64, 0, SIZE],
            );
        }
        let mut next = 0;
        for descriptor in area.descriptors.iter().take(area.count) {
            sys::call(number::DUP3, [descriptor.cast_unsigned().into(), next]);
            next += 1;
        }
        sys::call(number::CLOSE_RANGE, [next, u32::MAX.into()]);
        sys::call(number::CHDIR, [c"/".as_ptr() as u64]);
        let program = area.program as u64;
        let arguments = &raw const area.arguments as u64;
        let environment = &raw const area.environment as u64;
        sys::call(number::EXECVE, [program, arguments, environment])
    };
    area.report[2] = i32::try_from(-code).unwrap_or(libc::EIO).cast_unsigned();
    // SAFETY: the report has the given length; the other call takes no pointer.
    unsafe {
        let (to, bytes) = (area.report_to.cast_unsigned(), size_of_val(&area.report));
        let report = &raw const area.report as u64;
        sys::call(number::WRITE, [to.into(), report, bytes as u64]);
        loop {
            sys::call(number::EXIT_GROUP, [127]);
        }
    }
}
