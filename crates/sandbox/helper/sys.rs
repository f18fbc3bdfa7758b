//! System calls without a C library, and the few functions that compiled code expects from one.

use core::arch::asm;

#[cfg(target_arch = "x86_64")]
pub(crate) mod number {
    pub(crate) const PREAD64: u32 = 17;
    pub(crate) const READ: u32 = 0;
    pub(crate) const WRITE: u32 = 1;
    pub(crate) const MMAP: u32 = 9;
    pub(crate) const RT_SIGPROCMASK: u32 = 14;
    pub(crate) const CLONE: u32 = 56;
    pub(crate) const EXECVE: u32 = 59;
    pub(crate) const WAIT4: u32 = 61;
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
}

#[cfg(target_arch = "aarch64")]
pub(crate) mod number {
    pub(crate) const PREAD64: u32 = 67;
    pub(crate) const READ: u32 = 63;
    pub(crate) const WRITE: u32 = 64;
    pub(crate) const MMAP: u32 = 222;
    pub(crate) const RT_SIGPROCMASK: u32 = 135;
    pub(crate) const CLONE: u32 = 220;
    pub(crate) const EXECVE: u32 = 221;
    pub(crate) const WAIT4: u32 = 260;
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
}

/// Makes one system call.
///
/// # Safety
/// What the pointers among the arguments lead to must be what the call expects.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn call(number: u32, a: [u64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the kernel's convention; it changes only what is named here and what the pointers lead to, which is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") i64::from(number) => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    result
}

/// Makes one system call.
///
/// # Safety
/// What the pointers among the arguments lead to must be what the call expects.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn call(number: u32, a: [u64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the kernel's convention; it changes only what is named here and what the pointers lead to, which is the caller's promise.
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

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    let mut at = 0;
    while at < count {
        // SAFETY: within the caller's memory. Volatile, so that the loop is not compiled into a call of this very function.
        unsafe { to.add(at).write_volatile(value as u8) };
        at += 1;
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    let mut at = 0;
    while at < count {
        // SAFETY: within the caller's memory. Volatile, so that the loop is not compiled into a call of this very function.
        unsafe { to.add(at).write_volatile(*from.add(at)) };
        at += 1;
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (to as usize) < (from as usize) {
        // SAFETY: copying upwards is right for a target below its source.
        return unsafe { memcpy(to, from, count) };
    }
    let mut at = count;
    while at > 0 {
        at -= 1;
        // SAFETY: within the caller's memory. Volatile, so that the loop is not compiled into a call of this very function.
        unsafe { to.add(at).write_volatile(*from.add(at)) };
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
    let mut at = 0;
    while at < count {
        // SAFETY: within the caller's memory. Volatile, so that the loop is not compiled into a call of this very function.
        let (a, b) = unsafe { (one.add(at).read_volatile(), other.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
        at += 1;
    }
    0
}
