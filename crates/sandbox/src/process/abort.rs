//! The end of a process that cannot go on.

use std::mem::MaybeUninit;
use std::ptr;

/// What a program says when it ends this way.
const MESSAGE: &[u8] = b"error: harness ran out of memory or stack, so the call must not run\n";
/// The exit code of a guard that refuses.
const REFUSED: libc::c_int = 2;

/// Makes this process exit with 2 where it would abort, as when memory runs out: a client takes any
/// other end of its hook for permission. Workers set up their own end afterwards.
pub fn refuse_on_abort() {
    // SAFETY: all zeroes is a valid value; the field that matters is filled in.
    let mut plan: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    plan.sa_sigaction = refuse as extern "C" fn(libc::c_int) as usize;
    plan.sa_flags = libc::SA_ONSTACK;
    // SAFETY: `plan` is complete, and the action only writes and exits. If it fails, the process
    // aborts as it would have.
    let _ = unsafe { libc::sigaction(libc::SIGABRT, &raw const plan, ptr::null_mut()) };
}

extern "C" fn refuse(_: libc::c_int) {
    // SAFETY: both calls may be made in a signal handler, and the message is valid for its length.
    unsafe {
        libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
        libc::_exit(REFUSED)
    }
}
