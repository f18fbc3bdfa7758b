//! The processors that commands may use: those of the harness.

use std::sync::OnceLock;

/// Words of the largest set that the kernel supports.
const WORDS: usize = 128;

/// The set in the kernel's format; empty if it cannot be read. If it contains all processors, it
/// also contains those that may be added later.
pub(crate) fn allowed() -> Vec<u64> {
    let mut set = vec![0_u64; WORDS];
    // SAFETY: the set has the given length.
    let bytes = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            0,
            WORDS * size_of::<u64>(),
            set.as_mut_ptr(),
        )
    };
    set.truncate(usize::try_from(bytes).unwrap_or(0) / size_of::<u64>());
    let count: u32 = set.iter().map(|word| word.count_ones()).sum();
    if i64::from(count) >= configured() {
        set.fill(u64::MAX);
    }
    set
}

/// How many processors this machine may have.
fn configured() -> i64 {
    static CONFIGURED: OnceLock<i64> = OnceLock::new();
    // SAFETY: it only reads a constant.
    *CONFIGURED.get_or_init(|| unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) })
}
