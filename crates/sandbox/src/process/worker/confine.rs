//! The worker's side: giving up everything but memory, time and its channel.

use super::{ANSWERS, Channel, ExitCode, MAX_PARTS, ProcessError, REQUESTS, WorkerLimits, filter};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
use std::fs::File;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{BorrowedFd, FromRawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// The evaluator's stack, for the signal handler: a fault in or just below it is an overflow.
static STACK_LOW: AtomicUsize = AtomicUsize::new(0);
static STACK_HIGH: AtomicUsize = AtomicUsize::new(0);

/// Which part of the request the worker is working on.
static PART: AtomicI32 = AtomicI32::new(0);

/// How far below its stack an overflow may hit: the guard page, with some margin.
const GUARD: usize = 1 << 20;
const SIGNAL_STACK: usize = 64 << 10;

/// Turns this process into a worker and never returns.
///
/// `prepare` runs first, before anything untrusted is read: what a library caches must be looked up
/// here. `serve` runs confined. Both run on a thread with a large stack of its own; the first
/// thread only waits for the harness to close its end of the channel and then exits, whatever the
/// evaluator is doing: a worker never outlives its harness.
pub fn become_worker<T>(
    limits: &WorkerLimits,
    prepare: impl FnOnce() -> T + Send + 'static,
    serve: impl FnOnce(T, Channel) + Send + 'static,
) -> ! {
    let limits = *limits;
    // Other threads would lose their descriptors while they use them, and panic now and then:
    // better to refuse always.
    if !is_alone() {
        leave(ExitCode::Unconfined);
    }
    close_all_but_channel();
    keep_memory();
    let stack = usize::try_from(limits.stack_bytes).unwrap_or(usize::MAX);
    let thread = thread::Builder::new().stack_size(stack).spawn(move || {
        let prepared = prepare();
        let Ok(channel) = confine(&limits) else {
            leave(ExitCode::Unconfined)
        };
        serve(prepared, channel);
        leave(ExitCode::Closed);
    });
    if thread.is_err() {
        leave(ExitCode::Unconfined);
    }
    watch_channel();
    leave(ExitCode::Closed)
}

/// Exits at once: no destructors, no exit handlers, nothing the filter would object to.
pub fn leave(code: ExitCode) -> ! {
    let part = if code as libc::c_int >= ExitCode::Memory as libc::c_int {
        PART.load(Ordering::Relaxed)
    } else {
        0
    };
    // SAFETY: ends the process without touching its memory.
    unsafe { libc::_exit(code as libc::c_int + part) }
}

/// Records which part of its request this worker is working on, in case it dies there.
pub fn enter_part(part: usize) {
    PART.store(
        libc::c_int::try_from(part.min(MAX_PARTS - 1)).unwrap_or(0),
        Ordering::Relaxed,
    );
}

/// Processor time this process has used.
#[must_use]
pub fn own_cpu_time() -> Duration {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or_default()
}

pub(super) fn read_clock(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is writable.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(Duration::new(
        u64::try_from(time.tv_sec).ok()?,
        u32::try_from(time.tv_nsec).ok()?,
    ))
}

/// Confines the whole process and returns the channel. Called once, on the evaluator's thread.
fn confine(limits: &WorkerLimits) -> Result<Channel, ProcessError> {
    catch_faults(limits).map_err(ProcessError::step("signal handlers"))?;
    // Other processes of the user cannot trace it or read its memory.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(ProcessError::step("dumpable"))?;
    limit(limits).map_err(ProcessError::step("limits"))?;
    filter::apply()?;
    // SAFETY: both descriptors are open (the spawn put them there), and nothing else in this
    // process owns them.
    Ok(unsafe {
        Channel {
            reader: File::from_raw_fd(REQUESTS),
            writer: File::from_raw_fd(ANSWERS),
        }
    })
}

/// Whether this process has one thread.
pub(super) fn is_alone() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1)
}

fn close_all_but_channel() {
    // SAFETY: nothing in this process uses a descriptor yet but the channel; the standard streams
    // are not written to again.
    let closed = unsafe {
        libc::close_range(0, REQUESTS.unsigned_abs() - 1, 0) == 0
            && libc::close_range(ANSWERS.unsigned_abs() + 1, libc::c_uint::MAX, 0) == 0
    };
    if !closed {
        leave(ExitCode::Unconfined);
    }
}

/// One allocation arena, because a second one would reserve address space that the limit should
/// leave to scripts; and keep freed memory, because the system clears every page it hands out,
/// which is much of the cost of a short script.
fn keep_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets parameters of the allocator before a second thread exists.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 8 << 20);
        libc::mallopt(libc::M_TOP_PAD, 1 << 20);
    }
}

/// Returns when the other end of the channel is closed.
fn watch_channel() {
    // SAFETY: the spawn opened it, and this process never closes it.
    let channel = unsafe { BorrowedFd::borrow_raw(REQUESTS) };
    // It requests no events, so only a closed peer (or channel) ends the call. Whatever else goes
    // wrong: a worker that cannot see its harness end must exit.
    let mut polled = [PollFd::from_borrowed_fd(channel, PollFlags::empty())];
    while poll(&mut polled, None) == Err(Errno::INTR) {}
}

fn catch_faults(limits: &WorkerLimits) -> io::Result<()> {
    let here = 0_u8;
    let high = &raw const here as usize;
    STACK_HIGH.store(high, Ordering::Relaxed);
    STACK_LOW.store(
        high.saturating_sub(usize::try_from(limits.stack_bytes).unwrap_or(usize::MAX)),
        Ordering::Relaxed,
    );
    // The handlers need it as long as the process lives.
    let stack = Box::leak(vec![0_u8; SIGNAL_STACK].into_boxed_slice());
    let stack = libc::stack_t {
        ss_sp: stack.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: stack.len(),
    };
    // SAFETY: the memory is never freed and used for nothing else.
    check(unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) })?;
    handle(libc::SIGSEGV, on_fault)?;
    handle(libc::SIGBUS, on_fault)?;
    handle(libc::SIGTERM, on_stop)?;
    handle(libc::SIGABRT, on_abort)
}

type SignalAction = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

fn handle(signal: libc::c_int, action: SignalAction) -> io::Result<()> {
    // SAFETY: all zeroes is a valid value; the fields that matter are filled in.
    let mut plan: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    plan.sa_sigaction = action as usize;
    plan.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `plan` is complete, and the action is safe in a signal handler: it reads atomics and
    // exits.
    check(unsafe { libc::sigaction(signal, &raw const plan, ptr::null_mut()) })
}

extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` that has an address for these signals.
    let address = unsafe { (*info).si_addr() } as usize;
    let low = STACK_LOW.load(Ordering::Relaxed).saturating_sub(GUARD);
    if (low..STACK_HIGH.load(Ordering::Relaxed)).contains(&address) {
        leave(ExitCode::Stack);
    }
    // Not an overflow, so a fault of the program itself.
    // SAFETY: ends the process without touching its memory.
    unsafe { libc::_exit(128 + signal) }
}

/// A failed allocation aborts; panics never get this far.
extern "C" fn on_abort(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    leave(ExitCode::Memory);
}

/// The harness asks where the worker is stuck before it kills it.
extern "C" fn on_stop(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    leave(ExitCode::Stopped);
}

fn limit(limits: &WorkerLimits) -> io::Result<()> {
    let memory = limits.memory_bytes.saturating_add(mapped_bytes()?);
    let seconds = limits.cpu_seconds;
    for (resource, soft, hard) in [
        (Resource::As, memory, memory),
        (Resource::Core, 0, 0),
        (Resource::Cpu, seconds, seconds.saturating_add(1)),
        (Resource::Fsize, 0, 0),
        // It can open none, but polling the channel needs a limit of one.
        (Resource::Nofile, 1, 1),
        (Resource::Nproc, 0, 0),
        (Resource::Stack, limits.stack_bytes, limits.stack_bytes),
    ] {
        let bound = Rlimit {
            current: Some(soft),
            maximum: Some(hard),
        };
        setrlimit(resource, bound)?;
    }
    Ok(())
}

/// Address space in use: the program, its libraries, and the stacks.
fn mapped_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = text
        .split(' ')
        .next()
        .and_then(|pages| pages.parse().ok())
        .ok_or(io::ErrorKind::InvalidData)?;
    // SAFETY: asks for a constant of the system.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Ok(pages.saturating_mul(u64::try_from(page).map_err(|_| io::ErrorKind::InvalidData)?))
}

fn check(code: libc::c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

const _: () = assert!(
    mem::size_of::<usize>() == 8,
    "address space limits assume a 64-bit system"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_a_second_thread_is_not_alone() {
        let second = thread::spawn(thread::park);
        assert!(!is_alone());
        second.thread().unpark();
        second.join().expect("ends");
    }
}
