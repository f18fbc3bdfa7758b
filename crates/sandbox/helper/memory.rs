//! The few C library functions that compiled code expects.

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, count: usize) -> *mut u8 {
    for at in 0..count {
        // SAFETY: within the caller's memory. Volatile, so that the compiler does not turn the loop
        // into a call of this very function.
        unsafe { to.add(at).write_volatile(value as u8) };
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
    for at in 0..count {
        // SAFETY: within the caller's memory. Volatile, so that the compiler does not turn the loop
        // into a call of this very function.
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
        // SAFETY: within the caller's memory. Volatile, so that the compiler does not turn the loop
        // into a call of this very function.
        unsafe { to.add(at).write_volatile(*from.add(at)) };
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, count: usize) -> i32 {
    for at in 0..count {
        // SAFETY: within the caller's memory. Volatile, so that the compiler does not turn the loop
        // into a call of this very function.
        let (a, b) = unsafe { (one.add(at).read_volatile(), other.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}
