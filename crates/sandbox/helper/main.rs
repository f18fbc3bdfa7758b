//! The tiny program that every contained command starts as.
//!
//! It has no C library, allocates nothing and decides nothing: it executes the blocks that the
//! harness filled, the one it starts with and then the container's and the command's when they
//! arrive; it watches the command, and kills everything when the command or the harness ends. See
//! `layout.rs` for the blocks.

#![no_std]
#![no_main]

mod fold;
mod layout;
mod memory;
mod message;
mod names;
#[expect(dead_code, reason = "some calls are the harness's only")]
mod sys;

use core::arch::global_asm;
use core::mem::{MaybeUninit, size_of_val};
use core::panic::PanicInfo;
use layout::{
    ANY, BLOCK, CGROUPS, CHECK, COMMAND, COMMAND_BASE, CONTAINER, CONTAINER_AHEAD, CONTAINER_BASE,
    CONTROL, CommandHead, ContainerHead, ENDED, FAILED, FIRST_PASSED, GONE, HelperReport,
    LISTENER_SENDER, LOAD, MOST_PASSED, NAMESPACE_BASE, NameRules, NamespaceHead, ONE_PROCESS,
    OVERDUE, OWN_PROCESS, Op, PEER, PID_NAMESPACE, POKE, READY, RULES, SLOTS, STATUS,
    SyscallProgram,
};
use message::{Passed, receive, receive_message};
use names::Supervisor;
use sys::number;

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "and rsp, -16", "call {main}", "ud2", main = sym main);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, xzr", "bl {main}", "brk #1", main = sym main);

const SIGCHLD: u64 = 17;
const SIGKILL: u64 = 9;
const EPERM: i64 = -1;
const ECHILD: i64 = -10;
const NO_HANG: u64 = 1;
const ALL_KINDS: u64 = 0x4000_0000;

type Slots = [i64; SLOTS];

extern "C" fn main() -> ! {
    // SAFETY: the harness passed such a block there.
    let ground: NamespaceHead = unsafe { map_block(NAMESPACE_BASE, BLOCK) };
    let mut slots: Slots = [0; SLOTS];
    run(ground.outer, &mut slots);
    let has_namespace = ground.processes == PID_NAMESPACE;
    if ground.processes != ONE_PROCESS {
        let [at, words] = ground.processors;
        // SAFETY: the block has that many words there.
        let processors = unsafe { core::slice::from_raw_parts(at as *const u64, words as usize) };
        let child = fork();
        if child != 0 {
            if has_namespace {
                sys::begin_elsewhere(child, processors);
            }
            run(ground.beside, &mut slots);
            // Only the status pipe and the control socket stay open.
            close(0, BLOCK);
            close(PEER, -1);
            let children = (!has_namespace).then(open_children);
            wait_for(child);
            // In a namespace nothing is left by now. Elsewhere this process has inherited what the
            // other one left if it was killed.
            if let (Some(children), false) = (children, is_alone()) {
                end_all(Reach::Children(children));
            }
            say(&[report(GONE, 0, 0)]);
            exit(0);
        }
        // The harness may just have moved the first process to other processors, and both of us
        // with it.
        sys::keep_to(0, processors);
        run(ground.inner, &mut slots);
    }
    close(BLOCK, BLOCK);
    let Some((place, is_awaited)) = receive_place(&mut slots) else {
        exit(0)
    };
    run(place.make, &mut slots);
    let reach = if has_namespace || place.is_scoped != 0 {
        everybody(has_namespace)
    } else {
        Reach::Children(open_children())
    };
    let signals = catch_children();
    if is_awaited {
        say(&[report(READY, 0, 0)]);
    }
    let Some([stdin, stdout, stderr, block]) = receive_command() else {
        exit(0)
    };
    // SAFETY: the harness passed the block of a command there.
    let start: CommandHead = unsafe { map_block(COMMAND_BASE, block) };
    let listening = (start.names.are_supervised != 0).then(|| prepare_supervision(&start, &mut slots));
    let mut becoming = Becoming {
        stack: MaybeUninit::uninit(),
        start,
        slots: &mut slots,
        streams: [stdin, stdout, stderr],
    };
    let command = becoming.begin();
    // Only the command holds its streams, so that they end with it.
    [stdin, stdout, stderr, block].map(|end| close(end, end));
    let mut supervisor =
        listening.and_then(|ends| receive_supervisor(ends, start.names, command));
    let deadline = now().saturating_add(start.time_left);
    let over = watch(command, signals, deadline, supervisor.as_mut());
    // Most commands leave no process behind.
    if !is_alone() {
        end_all(reach);
    }
    let gone = report(GONE, 0, 0);
    match over {
        Over::Ended(status) => say(&[report(ENDED, status, 0), gone]),
        Over::Overdue => say(&[report(OVERDUE, 0, 0), gone]),
        Over::Unwanted => say(&[gone]),
    }
    exit(0)
}

/// Binds this process to the rules of the command, because it will make calls in its place, and
/// opens the sockets by which the listener for these calls arrives: ours, and the command's.
fn prepare_supervision(start: &CommandHead, slots: &mut Slots) -> [i32; 2] {
    const UNIX: u64 = 1;
    const STREAM: u64 = 1 | 0o2_000_000;
    let mut ends = [-1_i32; 2];
    // SAFETY: `ends` is writable, and the ruleset is a descriptor.
    let code = unsafe {
        let restricted = if start.names.is_ruled != 0 {
            let rules = slots[RULES as usize] as u64;
            sys::call(number::LANDLOCK_RESTRICT_SELF, [rules])
        } else {
            0
        };
        let made = sys::call(number::SOCKETPAIR, [UNIX, STREAM, 0, &raw mut ends as u64]);
        restricted.min(made)
    };
    if code < 0 {
        fail(1, code);
    }
    slots[LISTENER_SENDER as usize] = i64::from(ends[1]);
    ends
}

/// Waits for the listener. `None` if the command's process failed before; it has reported why.
fn receive_supervisor(
    [receiver, sender]: [i32; 2],
    rules: NameRules,
    command: i64,
) -> Option<Supervisor> {
    close(sender, sender);
    let (mut words, mut passed) = ([0_u8; 8], [0; MOST_PASSED]);
    let received = receive_message(receiver, &mut words, &mut passed);
    close(receiver, receiver);
    match received {
        Some((1, 1)) => Some(Supervisor::new(passed[0], rules, command)),
        _ => None,
    }
}

/// A process that becomes the command, with the memory that it alone uses for that.
#[repr(C, align(16))]
struct Becoming<'a> {
    stack: MaybeUninit<[u8; STACK]>,
    start: CommandHead,
    slots: &'a mut Slots,
    streams: [i32; 3],
}

const STACK: usize = 8192;

impl Becoming<'_> {
    /// Starts it. The memory lives as long as its parent, which never returns.
    fn begin(&mut self) -> i64 {
        const SHARE_MEMORY: u64 = 0x100;
        let top = &raw mut self.stack as u64 + STACK as u64;
        // SAFETY: the stack is aligned like the struct and has the given length, and from now on
        // only the child touches this memory.
        let child = unsafe {
            let becoming = &raw mut *self as u64;
            sys::clone_vm(SIGCHLD | SHARE_MEMORY, top, 0, become_command, becoming)
        };
        if child < 0 {
            fail(OWN_PROCESS, child);
        }
        child
    }
}

extern "C" fn become_command(becoming: u64) -> ! {
    // SAFETY: `begin` passed this, and it belongs to this process alone.
    let Becoming {
        start,
        slots,
        streams,
        ..
    } = unsafe { &mut *(becoming as *mut Becoming<'_>) };
    take_streams(*streams);
    run(start.command, slots);
    let args = [start.program, start.arguments, start.environment];
    // SAFETY: the block holds a path and two lists of strings that end with null.
    let code = unsafe { sys::call(number::EXECVE, args) };
    fail(start.start_step as u32, code);
}

/// Maps a block to where its pointers point, and returns its head.
///
/// # Safety
///
/// The descriptor must be a block that starts with such a head and was made for this address.
unsafe fn map_block<Head: Copy>(base: u64, block: i32) -> Head {
    let mut bytes: u64 = 0;
    const READ_WRITE: u64 = 3;
    const PRIVATE_FIXED: u64 = 0x10_0002;
    let descriptor = block as u64;
    // SAFETY: the first call fills `bytes`; the second takes an unused address range.
    let code = unsafe {
        sys::call(number::PREAD64, [descriptor, &raw mut bytes as u64, 8]);
        sys::call(
            number::MMAP,
            [base, bytes, READ_WRITE, PRIVATE_FIXED, descriptor],
        )
    };
    if code != base as i64 {
        fail(0, code);
    }
    // SAFETY: the block starts with such a head, as the caller promised, and is mapped.
    unsafe { *(base as *const Head) }
}

/// Waits for the container, enters cgroups on the way, and keeps the descriptors that were passed;
/// also returns whether to report when it is ready. `None` if the harness wants no container.
fn receive_place(slots: &mut Slots) -> Option<(ContainerHead, bool)> {
    let mut passed: Passed = [0; MOST_PASSED];
    let (kind, count) = loop {
        match receive(&mut passed)? {
            (CGROUPS, count) => enter(&passed, count),
            (kind @ (CONTAINER | CONTAINER_AHEAD), count @ 1..) => break (kind, count),
            _ => return None,
        }
    };
    // SAFETY: the harness passed the block of a container there.
    let place = unsafe { map_block(CONTAINER_BASE, passed[0]) };
    close(passed[0], passed[0]);
    for at in 1..count {
        slots[FIRST_PASSED as usize + at - 1] = i64::from(passed[at]);
    }
    Some((place, kind == CONTAINER_AHEAD))
}

/// Waits for the command, its streams and its block. `None` if the harness wants no command.
fn receive_command() -> Option<[i32; 4]> {
    let mut passed: Passed = [0; MOST_PASSED];
    match receive(&mut passed)? {
        (COMMAND, 4) => Some([passed[0], passed[1], passed[2], passed[3]]),
        _ => None,
    }
}

/// Enters cgroups.
fn enter(doors: &Passed, count: usize) {
    let own = b'0';
    for &door in &doors[..count] {
        // SAFETY: one byte is written, and it is there.
        let code = unsafe { sys::call(number::WRITE, [door as u64, &raw const own as u64, 1]) };
        if code < 0 {
            fail(2, code);
        }
        close(door, door);
    }
}

/// Makes the three streams the standard ones.
fn take_streams(streams: [i32; 3]) {
    for (standard, stream) in streams.into_iter().enumerate() {
        // SAFETY: takes no pointers.
        let code = unsafe { sys::call(number::DUP3, [stream as u64, standard as u64]) };
        if code < 0 {
            fail(1, code);
        }
    }
}

/// Executes one list of operations; the first failure ends this process.
fn run(script: SyscallProgram, slots: &mut Slots) {
    // SAFETY: the block holds `count` operations there.
    let ops =
        unsafe { core::slice::from_raw_parts(script.address as *const Op, script.count as usize) };
    for op in ops {
        let mut args = op.args;
        for (at, arg) in args.iter_mut().enumerate() {
            if op.from & (1 << at) != 0 {
                *arg = slots[*arg as usize % SLOTS] as u64;
            }
        }
        let result = match op.call {
            POKE => {
                // SAFETY: the harness chose an address in the block; fields there need not be
                // aligned.
                unsafe { (args[0] as *mut u32).write_unaligned(args[1] as u32) };
                0
            }
            CHECK | LOAD => {
                // SAFETY: the harness chose an address in the block.
                i64::from(unsafe { (args[0] as *const i32).read_unaligned() })
            }
            // SAFETY: the harness wrote the arguments for this call.
            call => unsafe { sys::call(call, args) },
        };
        if result < 0 && op.tolerate != ANY && i64::from(op.tolerate) != -result {
            fail(u32::from(op.step), result);
        }
        if op.save != 0 {
            slots[op.save as usize % SLOTS] = result;
        }
    }
}

/// Why a command is over.
enum Over {
    /// It exited with this status.
    Ended(u32),
    /// It reached its deadline.
    Overdue,
    /// The harness ended first, or wants it to end.
    Unwanted,
}

/// Waits until the command is over.
fn watch(
    command: i64,
    signals: i64,
    deadline: u64,
    mut supervisor: Option<&mut Supervisor>,
) -> Over {
    #[repr(C)]
    struct Poll {
        fd: i32,
        events: i16,
        found: i16,
    }
    const READABLE: i16 = 1;
    /// A descriptor that is not polled.
    const NONE: i32 = -1;
    let mut listener = supervisor.as_ref().map_or(NONE, |supervisor| supervisor.listener());
    loop {
        let mut polls = [CONTROL, signals as i32, listener].map(|fd| Poll {
            fd,
            events: READABLE,
            found: 0,
        });
        let left = deadline.saturating_sub(now());
        if left == 0 {
            return Over::Overdue;
        }
        let left = supervisor.as_ref().map_or(left, |supervisor| left.min(supervisor.patience()));
        let mut time = [left / SECOND, left % SECOND];
        // SAFETY: three valid entries, a time, no mask.
        unsafe {
            sys::call(
                number::PPOLL,
                [&raw mut polls as u64, 3, &raw mut time as u64],
            )
        };
        if let Some(supervisor) = &mut supervisor {
            match polls[2].found {
                0 => {}
                found if found & READABLE != 0 => supervisor.serve(),
                // Nobody is left whose calls could arrive.
                _ => listener = NONE,
            }
            supervisor.retry();
        }
        if polls[1].found != 0 {
            let mut information = [0_u8; 128];
            // SAFETY: the buffer is as long as one record.
            unsafe {
                sys::call(
                    number::READ,
                    [signals as u64, &raw mut information as u64, 128],
                )
            };
        }
        while let Some((pid, status)) = reap(NO_HANG) {
            if pid == command {
                return Over::Ended(status);
            }
        }
        if polls[0].found != 0 {
            let mut signal: u32 = 0;
            const DO_NOT_WAIT: u64 = 0x40;
            let args = [CONTROL as u64, &raw mut signal as u64, 4, DO_NOT_WAIT];
            // SAFETY: the buffer holds four bytes.
            let count = unsafe { sys::call(number::RECVFROM, args) };
            match count {
                4 => {
                    // SAFETY: takes no pointers. The command is not reaped yet, so the number is
                    // still its own.
                    unsafe { sys::call(number::KILL, [command as u64, signal.into()]) };
                }
                -11 | message::EINTR => {}
                _ => return Over::Unwanted,
            }
        }
    }
}

const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of the monotonic clock.
fn now() -> u64 {
    const MONOTONIC: u64 = 1;
    let mut time = [0_u64; 2];
    // SAFETY: `time` is writable.
    unsafe { sys::call(number::CLOCK_GETTIME, [MONOTONIC, &raw mut time as u64]) };
    time[0] * SECOND + time[1]
}

/// Whether this process has no children. It inherits orphans, so then none of its descendants is
/// left.
fn is_alone() -> bool {
    // SAFETY: no status is requested.
    let result = unsafe { sys::call(number::WAIT4, [u64::MAX, 0, NO_HANG | ALL_KINDS]) };
    result == ECHILD
}

/// How to find all descendants of this process.
#[derive(Clone, Copy)]
enum Reach {
    /// They are all processes that this one can signal.
    Everybody,
    /// This file lists them; it was opened before there was a command that could prevent that.
    Children(i64),
}

/// Makes sure that this process can signal only its descendants. For the init process of a
/// namespace the kernel guarantees it.
fn everybody(has_namespace: bool) -> Reach {
    const PERMITTED: i64 = 0;
    // SAFETY: neither takes pointers, and no signal is sent.
    let parent = unsafe { sys::call(number::KILL, [sys::call(number::GETPPID, []) as u64]) };
    if !has_namespace && parent == PERMITTED {
        fail(1, EPERM);
    }
    Reach::Everybody
}

/// Kills all descendants. Orphans become children, so nothing is left when there are no children.
fn end_all(reach: Reach) {
    loop {
        match reach {
            Reach::Everybody => {
                // SAFETY: takes no pointers.
                unsafe { sys::call(number::KILL, [u64::MAX, SIGKILL]) };
            }
            Reach::Children(list) => kill_children(list),
        }
        // The next round finds processes that were just being created or orphaned.
        if reap(0).is_none() {
            return;
        }
        while reap(NO_HANG).is_some() {}
    }
}

/// Opens the list of this process's children, to be read when they must be killed.
fn open_children() -> i64 {
    const HERE: u64 = -100_i64 as u64;
    const CLOSE_ON_EXEC: u64 = 0o2_000_000;
    let path = c"/proc/thread-self/children".as_ptr() as u64;
    // SAFETY: the path ends with null.
    let list = unsafe { sys::call(number::OPENAT, [HERE, path, CLOSE_ON_EXEC]) };
    if list < 0 {
        fail(1, list);
    }
    list
}

fn kill_children(list: i64) {
    let mut text = [0_u8; 4096];
    let args = [list as u64, &raw mut text as u64, text.len() as u64];
    // SAFETY: the buffer has the given length.
    let count = unsafe { sys::call(number::PREAD64, args) };
    if count < 0 {
        // The parent learns of this from the exit; waiting for children that were not killed would
        // hang.
        exit(1);
    }
    let mut pid: u64 = 0;
    for &byte in text.iter().take(count as usize) {
        if byte == b' ' {
            // SAFETY: takes no pointers. A child keeps its number until it is reaped.
            unsafe { sys::call(number::KILL, [pid, SIGKILL]) };
            pid = 0;
        } else {
            pid = pid * 10 + u64::from(byte - b'0');
        }
    }
}

/// Reaps one child.
fn reap(how: u64) -> Option<(i64, u32)> {
    let mut status: u32 = 0;
    let args = [u64::MAX, &raw mut status as u64, how | ALL_KINDS];
    // SAFETY: `status` is writable.
    let pid = unsafe { sys::call(number::WAIT4, args) };
    if pid > 0 { Some((pid, status)) } else { None }
}

fn wait_for(child: i64) {
    loop {
        // SAFETY: no status is requested.
        let result = unsafe { sys::call(number::WAIT4, [child as u64, 0, ALL_KINDS]) };
        if result == child || result == ECHILD {
            return;
        }
    }
}

/// A descriptor that becomes readable when a child ends.
fn catch_children() -> i64 {
    let mask: u64 = 1 << (SIGCHLD - 1);
    const CLOSE_ON_EXEC: u64 = 0o2_000_000;
    let set = &raw const mask as u64;
    // SAFETY: the mask has the given length.
    unsafe {
        sys::call(number::RT_SIGPROCMASK, [0, set, 0, 8]);
        sys::call(number::SIGNALFD4, [u64::MAX, set, 8, CLOSE_ON_EXEC])
    }
}

fn fork() -> i64 {
    // SAFETY: like `fork`: a copy of this process continues here with memory of its own.
    let child = unsafe { sys::call(number::CLONE, [SIGCHLD]) };
    if child < 0 {
        fail(OWN_PROCESS, child);
    }
    child
}

/// Closes the descriptors from `first` to `last`.
fn close(first: i32, last: i32) {
    // SAFETY: takes no pointers; nothing here uses the descriptors any more.
    unsafe { sys::call(number::CLOSE_RANGE, [first as u64, last as u32 as u64]) };
}

fn report(kind: u32, first: u32, second: u32) -> HelperReport {
    HelperReport {
        kind,
        first,
        second,
    }
}

fn say(reports: &[HelperReport]) {
    let (start, bytes) = (reports.as_ptr() as u64, size_of_val(reports) as u64);
    // SAFETY: the reports have the given length. A harness that is gone does not read them, which
    // does not matter.
    unsafe { sys::call(number::WRITE, [STATUS as u64, start, bytes]) };
}

fn fail(step: u32, code: i64) -> ! {
    say(&[report(FAILED, step, (-code) as u32)]);
    exit(1)
}

fn exit(code: u64) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { sys::call(number::EXIT_GROUP, [code]) };
    }
}

#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    exit(2)
}
