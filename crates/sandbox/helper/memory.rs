//! The few C library functions that compiled code expects.
//!
//! The compiler would turn a plain loop into a call of the very function it is in, so one is
//! written with an instruction of the processor where it has one, and volatile elsewhere.

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    // SAFETY: writes `count` bytes of the caller's memory.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("rep stosb", inout("rdi") to => _, inout("rcx") count => _, in("al") value as u8, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    for at in 0..count {
        // SAFETY: within the caller's memory.
        unsafe { to.add(at).write_volatile(value as u8) };
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    // SAFETY: copies `count` bytes, all of it the caller's memory.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") count => _, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    for at in 0..count {
        // SAFETY: within the caller's memory.
        unsafe { to.add(at).write_volatile(*from.add(at)) };
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    if (to as usize) < (from as usize) {
        // SAFETY: copying upwards is right if the target is below its source.
        return unsafe { memcpy(to, from, count) };
    }
    for at in (0..count).rev() {
        // SAFETY: within the caller's memory.
        unsafe { to.add(at).write_volatile(*from.add(at)) };
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
    for at in 0..count {
        // SAFETY: within the caller's memory.
        let (a, b) = unsafe { (one.add(at).read_volatile(), other.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
    // SAFETY: as the caller promised.
    unsafe { memcmp(one, other, count) }
}
