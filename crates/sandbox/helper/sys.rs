//! System calls without a C library.

use core::arch::asm;

#[cfg(target_arch = "x86_64")]
pub(crate) mod number {
    pub(crate) const PREAD64: u32 = 17;
    pub(crate) const READ: u32 = 0;
    pub(crate) const WRITE: u32 = 1;
    pub(crate) const MMAP: u32 = 9;
    pub(crate) const RT_SIGACTION: u32 = 13;
    pub(crate) const RT_SIGPROCMASK: u32 = 14;
    pub(crate) const CLONE: u32 = 56;
    pub(crate) const EXECVE: u32 = 59;
    pub(crate) const WAIT4: u32 = 61;
    pub(crate) const CHDIR: u32 = 80;
    pub(crate) const SETSID: u32 = 112;
    pub(crate) const KILL: u32 = 62;
    pub(crate) const EXIT_GROUP: u32 = 231;
    pub(crate) const OPENAT: u32 = 257;
    pub(crate) const GETPPID: u32 = 110;
    pub(crate) const CLOCK_GETTIME: u32 = 228;
    pub(crate) const PPOLL: u32 = 271;
    pub(crate) const SIGNALFD4: u32 = 289;
    pub(crate) const CLOSE_RANGE: u32 = 436;
    pub(crate) const RECVFROM: u32 = 45;
    pub(crate) const RECVMSG: u32 = 47;
    pub(crate) const DUP3: u32 = 292;
    pub(crate) const SCHED_SETAFFINITY: u32 = 203;
    pub(crate) const GETCPU: u32 = 309;
    pub(crate) const OPEN: u32 = 2;
    pub(crate) const IOCTL: u32 = 16;
    pub(crate) const GETPID: u32 = 39;
    pub(crate) const SENDMSG: u32 = 46;
    pub(crate) const SOCKETPAIR: u32 = 53;
    pub(crate) const FCNTL: u32 = 72;
    pub(crate) const TRUNCATE: u32 = 76;
    pub(crate) const FTRUNCATE: u32 = 77;
    pub(crate) const RENAME: u32 = 82;
    pub(crate) const MKDIR: u32 = 83;
    pub(crate) const RMDIR: u32 = 84;
    pub(crate) const CREAT: u32 = 85;
    pub(crate) const LINK: u32 = 86;
    pub(crate) const UNLINK: u32 = 87;
    pub(crate) const SYMLINK: u32 = 88;
    pub(crate) const UMASK: u32 = 95;
    pub(crate) const MKNOD: u32 = 133;
    pub(crate) const MKDIRAT: u32 = 258;
    pub(crate) const MKNODAT: u32 = 259;
    pub(crate) const NEWFSTATAT: u32 = 262;
    pub(crate) const UNLINKAT: u32 = 263;
    pub(crate) const RENAMEAT: u32 = 264;
    pub(crate) const LINKAT: u32 = 265;
    pub(crate) const SYMLINKAT: u32 = 266;
    pub(crate) const READLINKAT: u32 = 267;
    pub(crate) const RENAMEAT2: u32 = 316;
    pub(crate) const OPENAT2: u32 = 437;
    pub(crate) const LANDLOCK_RESTRICT_SELF: u32 = 446;
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod number {
    pub(crate) const PREAD64: u32 = 67;
    pub(crate) const READ: u32 = 63;
    pub(crate) const WRITE: u32 = 64;
    pub(crate) const MMAP: u32 = 222;
    pub(crate) const RT_SIGACTION: u32 = 134;
    pub(crate) const RT_SIGPROCMASK: u32 = 135;
    pub(crate) const CLONE: u32 = 220;
    pub(crate) const EXECVE: u32 = 221;
    pub(crate) const WAIT4: u32 = 260;
    pub(crate) const CHDIR: u32 = 49;
    pub(crate) const SETSID: u32 = 157;
    pub(crate) const KILL: u32 = 129;
    pub(crate) const EXIT_GROUP: u32 = 94;
    pub(crate) const OPENAT: u32 = 56;
    pub(crate) const GETPPID: u32 = 173;
    pub(crate) const CLOCK_GETTIME: u32 = 113;
    pub(crate) const PPOLL: u32 = 73;
    pub(crate) const SIGNALFD4: u32 = 74;
    pub(crate) const CLOSE_RANGE: u32 = 436;
    pub(crate) const RECVFROM: u32 = 207;
    pub(crate) const RECVMSG: u32 = 212;
    pub(crate) const DUP3: u32 = 24;
    pub(crate) const SCHED_SETAFFINITY: u32 = 122;
    pub(crate) const GETCPU: u32 = 168;
    pub(crate) const FCNTL: u32 = 25;
    pub(crate) const IOCTL: u32 = 29;
    pub(crate) const MKNODAT: u32 = 33;
    pub(crate) const MKDIRAT: u32 = 34;
    pub(crate) const UNLINKAT: u32 = 35;
    pub(crate) const SYMLINKAT: u32 = 36;
    pub(crate) const LINKAT: u32 = 37;
    pub(crate) const RENAMEAT: u32 = 38;
    pub(crate) const TRUNCATE: u32 = 45;
    pub(crate) const FTRUNCATE: u32 = 46;
    pub(crate) const READLINKAT: u32 = 78;
    pub(crate) const NEWFSTATAT: u32 = 79;
    pub(crate) const UMASK: u32 = 166;
    pub(crate) const GETPID: u32 = 172;
    pub(crate) const SOCKETPAIR: u32 = 199;
    pub(crate) const SENDMSG: u32 = 211;
    pub(crate) const RENAMEAT2: u32 = 276;
    pub(crate) const OPENAT2: u32 = 437;
    pub(crate) const LANDLOCK_RESTRICT_SELF: u32 = 446;
}

/// Makes one system call; arguments that are not given are zero.
///
/// # Safety
///
/// The pointers among the arguments must point to what the call expects.
#[inline(always)]
pub(crate) unsafe fn call<const N: usize>(number: u32, arguments: [u64; N]) -> i64 {
    let (mut a, mut at) = ([0; 6], 0);
    while at < N {
        a[at] = arguments[at];
        at += 1;
    }
    let result: i64;
    // SAFETY: the kernel's calling convention; it changes only what is named here and what the
    // pointers point to, which the caller promised.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") i64::from(number) => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "svc 0",
            in("x8") u64::from(number),
            inlateout("x0") a[0] => result,
            in("x1") a[1], in("x2") a[2], in("x3") a[3], in("x4") a[4], in("x5") a[5],
            options(nostack)
        );
    }
    result
}

/// Starts a process that shares this one's memory until it executes a program, on a stack of its
/// own that ends at `stack`. It continues in `child` with the argument; the caller does not wait
/// for it. No memory is copied, and none is torn down when the program is executed. If the flags
/// ask for a pidfd, its number is written to `watched`.
///
/// # Safety
///
/// The flags are those of `clone`, including shared memory. The stack, which ends at a multiple of
/// 16, and what the argument points to belong to the child until it executes a program or ends. The
/// child uses no thread-local memory, which is its parent's.
pub(crate) unsafe fn clone_vm(
    flags: u64,
    stack: u64,
    watched: u64,
    child: extern "C" fn(u64) -> !,
    argument: u64,
) -> i64 {
    let result: i64;
    // SAFETY: the parent returns with nothing changed but the result. The child has an empty stack
    // and never returns.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r9",
            "call r12",
            "ud2",
            "2:",
            inlateout("rax") i64::from(number::CLONE) => result,
            in("rdi") flags, in("rsi") stack, in("rdx") watched, in("r10") 0, in("r8") 0, in("r9") argument, in("r12") child,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x5",
            "blr x9",
            "brk #1",
            "2:",
            in("x8") u64::from(number::CLONE),
            inlateout("x0") flags => result,
            in("x1") stack, in("x2") watched, in("x3") 0, in("x4") 0, in("x5") argument, in("x9") child,
        );
    }
    result
}

/// Moves a process that was just started to another of its allowed processors, and then allows all
/// of them again. A kernel that wakes as few processors as possible queues it behind the caller,
/// where it waits for as long as the caller is busy. Once moved, it stays there.
///
/// What it starts before this returns may be restricted to the other processors, and must undo that
/// itself.
pub(crate) fn begin_elsewhere(pid: i64, all: &[u64]) {
    const WORDS: usize = 128;
    const BITS: usize = 64;
    let (mut others, mut here) = ([0_u64; WORDS], 0_u32);
    // SAFETY: `here` is writable.
    unsafe { call(number::GETCPU, [&raw mut here as u64]) };
    let (word, bit) = (here as usize / BITS, here as usize % BITS);
    let count = all.len().min(WORDS);
    others[..count].copy_from_slice(&all[..count]);
    if word < count {
        others[word] &= !(1 << bit);
    }
    // If there is no other processor, the kernel refuses the first call, and nothing changes.
    if keep_to(pid, &others[..count]) >= 0 {
        keep_to(pid, all);
    }
}

/// Restricts a process to a set of processors and returns the kernel's answer; 0 means the caller
/// itself.
pub(crate) fn keep_to(pid: i64, set: &[u64]) -> i64 {
    // SAFETY: the set has the given length, and is only read.
    unsafe {
        let (bytes, start) = (8 * set.len() as u64, set.as_ptr() as u64);
        call(number::SCHED_SETAFFINITY, [pid as u64, bytes, start])
    }
}
