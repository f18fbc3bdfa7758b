//! The calls that come to the supervisor, in one form: each has an older spelling on some
//! architectures.

use super::open::flag::{CREATE, TRUNCATE, WRITE_ONLY};
use crate::sys::number;

/// What the kernel tells about a call (`struct seccomp_notif`).
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Notification {
    pub(super) id: u64,
    /// The thread that made it.
    pub(super) thread: u32,
    pub(super) flags: u32,
    pub(super) call: i32,
    pub(super) architecture: u32,
    pub(super) instruction: u64,
    pub(super) args: [u64; 6],
}

/// A folder's descriptor and the address of a path, both the command's.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) folder: i32,
    pub(super) path: u64,
}

pub(super) const HERE: i32 = -100;

/// A call.
pub(super) enum Request {
    Open { way: Way, flags: u64, mode: u64 },
    Folder { way: Way, mode: u64 },
    Node { way: Way, mode: u64, device: u64 },
    Link { from: Way, to: Way, flags: u64 },
    Symlink { target: u64, way: Way },
    Rename { from: Way, to: Way, flags: u64 },
    Remove { way: Way, flags: u64 },
    Truncate { way: Way, length: u64 },
    Umask,
    Unknown,
}

/// The flag of `unlinkat` that removes a folder.
pub(super) const FOLDER: u64 = 0x200;

impl Request {
    pub(super) fn of(call: i32, args: [u64; 6]) -> Self {
        let [a, b, c, d, e, _] = args;
        let here = |path| Way { folder: HERE, path };
        let at = |folder, path| Way {
            folder: folder as i32,
            path,
        };
        #[cfg(target_arch = "x86_64")]
        {
            let old = match call as u32 {
                number::OPEN => Some(Self::Open { way: here(a), flags: b, mode: c }),
                number::CREAT => Some(Self::Open {
                    way: here(a),
                    flags: CREATE | WRITE_ONLY | TRUNCATE,
                    mode: b,
                }),
                number::MKDIR => Some(Self::Folder { way: here(a), mode: b }),
                number::MKNOD => Some(Self::Node { way: here(a), mode: b, device: c }),
                number::LINK => Some(Self::Link { from: here(a), to: here(b), flags: 0 }),
                number::SYMLINK => Some(Self::Symlink { target: a, way: here(b) }),
                number::RENAME => Some(Self::Rename { from: here(a), to: here(b), flags: 0 }),
                number::UNLINK => Some(Self::Remove { way: here(a), flags: 0 }),
                number::RMDIR => Some(Self::Remove { way: here(a), flags: FOLDER }),
                _ => None,
            };
            if let Some(request) = old {
                return request;
            }
        }
        match call as u32 {
            number::OPENAT => Self::Open { way: at(a, b), flags: c, mode: d },
            number::MKDIRAT => Self::Folder { way: at(a, b), mode: c },
            number::MKNODAT => Self::Node { way: at(a, b), mode: c, device: d },
            number::LINKAT => Self::Link { from: at(a, b), to: at(c, d), flags: e },
            number::SYMLINKAT => Self::Symlink { target: a, way: at(b, c) },
            number::RENAMEAT => Self::Rename { from: at(a, b), to: at(c, d), flags: 0 },
            number::RENAMEAT2 => Self::Rename { from: at(a, b), to: at(c, d), flags: e },
            number::UNLINKAT => Self::Remove { way: at(a, b), flags: c },
            number::TRUNCATE => Self::Truncate { way: here(a), length: b },
            number::UMASK => Self::Umask,
            _ => Self::Unknown,
        }
    }
}
