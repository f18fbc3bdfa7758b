//! Opening a place of the plan that lies exactly where its path says.

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Opens a path without following any link: a process that can write above it, such as a command of
/// another call, could have put a link there since the plan was made, and this call would get
/// whatever the link leads to.
pub(crate) fn open_exact(path: &Path) -> io::Result<OwnedFd> {
    let opened = openat2(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    );
    opened.map_err(|cause| {
        if cause == rustix::io::Errno::LOOP {
            io::Error::other("there is a link on the way to it")
        } else {
            cause.into()
        }
    })
}
