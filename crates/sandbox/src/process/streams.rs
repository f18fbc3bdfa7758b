//! Which standard streams this process was started without.

use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// One of the standard streams to write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standard {
    /// Standard output.
    Out = 1,
    /// Standard error.
    Err = 2,
}

/// Whether a stream was closed when the process was started. Later nobody can tell: before `main` a closed one is opened on the null device,
/// where a person may have sent it as well, and whatever is written to it is lost without an error.
#[must_use]
pub fn was_closed(stream: Standard) -> bool {
    CLOSED.load(Ordering::Relaxed) & (1 << stream as u8) != 0
}

extern "C" fn look() {
    for number in 0..3 {
        // SAFETY: takes no pointer, and changes nothing.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << number, Ordering::Relaxed);
        }
    }
}

// SAFETY: what is listed there is called once before `main`, as a C function; this one needs nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;
