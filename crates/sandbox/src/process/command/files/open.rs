//! Opening a place of the plan, as a folder or file that lies exactly where its path says.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Opens what is at a path, without following any link: whoever may write above it, a command of another call for instance, could have put
/// one there since the plan was made, and whatever the link leads to would be opened to this call.
pub(crate) fn open(path: &Path) -> io::Result<OwnedFd> {
    let opened = openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    );
    opened.map_err(|cause| {
        if cause == rustix::io::Errno::LOOP {
            io::Error::other("a link lies on the way to it")
        } else {
            cause.into()
        }
    })
}
