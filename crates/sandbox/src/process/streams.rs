//! Which standard streams this process was started without.

use super::Stream;
use std::sync::atomic::{AtomicU8, Ordering};

/// A bit for each that was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Whether a stream of this process was closed when it started. Later nothing can tell: before
/// `main` the runtime opens a closed one on the null device, where a person may have sent it as
/// well, and whatever is written to it is lost without an error.
#[must_use]
pub fn was_closed(stream: Stream) -> bool {
    let number = match stream {
        Stream::Out => 1,
        Stream::Err => 2,
    };
    CLOSED.load(Ordering::Relaxed) & (1 << number) != 0
}

extern "C" fn check_streams() {
    for number in 0..3 {
        // SAFETY: takes no pointer, and changes nothing.
        if unsafe { libc::fcntl(number, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << number, Ordering::Relaxed);
        }
    }
}

// SAFETY: the loader calls what is listed there once before `main`, as a C function; this one needs
// nothing that is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static CHECK_STREAMS: extern "C" fn() = check_streams;
