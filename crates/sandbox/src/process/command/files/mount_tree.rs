//! Trees that root opens for a command that will not be root: the command's user could not open
//! them, and sees their owners as its own.

use super::identity::Identity;
use super::mounts::{CLONE_TREE, CLOSE_ON_EXEC, EMPTY_PATH, RECURSIVE};
use super::open;
use crate::process::command::helper::programs::{nothing, user_namespace};
use crate::process::command::helper::start::{Helper, ReadyReport};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd};
use std::path::Path;
use std::time::Duration;

/// A detached copy of the mounts at a path.
pub(crate) fn clone_mounts(path: &Path) -> io::Result<OwnedFd> {
    let place = open::open_exact(path)?;
    let flags = CLONE_TREE | CLOSE_ON_EXEC | RECURSIVE | EMPTY_PATH;
    // SAFETY: the descriptor is open, and the path is an empty string.
    let tree =
        unsafe { libc::syscall(libc::SYS_open_tree, place.as_raw_fd(), c"".as_ptr(), flags) };
    if tree < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just handed out this descriptor, to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(i32::try_from(tree).unwrap_or(-1)) })
}

/// Shows the owners in a tree as the user namespace `owners` maps them. Not every file system can.
pub(crate) fn map_owners(tree: &OwnedFd, owners: &OwnedFd) -> io::Result<()> {
    const IDMAP: u64 = 0x0010_0000;
    let attributes: [u64; 4] = [IDMAP, 0, 0, u64::from(owners.as_raw_fd().unsigned_abs())];
    // SAFETY: the path is an empty string, the attributes have the given length, both descriptors
    // are open.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            EMPTY_PATH | RECURSIVE,
            attributes.as_ptr(),
            size_of_val(&attributes),
        )
    };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// A user namespace that swaps root and this user.
pub(crate) fn owner_namespace(identity: &Identity) -> io::Result<OwnedFd> {
    const LONG: Duration = Duration::from_secs(10);
    // The helper waits there for a command that never comes.
    let mut helper = Helper::start(&user_namespace()).map_err(io::Error::other)?;
    helper
        .make_container(&nothing(), &[], ReadyReport::Wanted)
        .map_err(io::Error::other)?;
    helper
        .next_report(LONG)?
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    let folder = Path::new("/proc").join(helper.process.pid.to_string());
    fs::write(folder.join("uid_map"), Identity::shown_owners(identity.uid))?;
    fs::write(folder.join("gid_map"), Identity::shown_owners(identity.gid))?;
    let namespace = File::open(folder.join("ns/user"))?;
    helper.stop();
    Ok(namespace.into())
}
