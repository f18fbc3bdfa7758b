//! How many of its user's inotify instances and watches one command may take.
//!
//! The kernel counts both for each user of the machine, so a command that took all of them would
//! stop every other program of its user from watching files. A user namespace has limits of its own
//! below those; without one, nothing counts a command's share.

use std::ffi::CStr;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// A limit of the command's user namespace: where it is set, and its value.
pub(crate) struct Share {
    pub(crate) file: &'static CStr,
    pub(crate) most: u64,
}

/// A quarter of the instances, and half of the watches: a program needs few instances, and one watch
/// for each folder of a tree.
pub(crate) fn shares() -> &'static [Share; 2] {
    static SHARES: OnceLock<[Share; 2]> = OnceLock::new();
    SHARES.get_or_init(|| {
        [
            Share {
                file: c"/proc/sys/user/max_inotify_instances",
                most: limit("instances", USUAL_INSTANCES) / 4,
            },
            Share {
                file: c"/proc/sys/user/max_inotify_watches",
                most: limit("watches", USUAL_WATCHES) / 2,
            },
        ]
    })
}

/// What a kernel gives a user at least if nobody changed it, where it does not say.
const USUAL_INSTANCES: u64 = 128;
const USUAL_WATCHES: u64 = 8192;

/// What the user of the harness may have. In a namespace of its own the first file may say more
/// than the machine allows.
fn limit(what: &str, usual: u64) -> u64 {
    let files = [
        format!("user/max_inotify_{what}"),
        format!("fs/inotify/max_user_{what}"),
    ];
    let read = |file: &String| -> Option<u64> {
        let text = fs::read_to_string(Path::new("/proc/sys").join(file)).ok()?;
        text.trim().parse().ok()
    };
    files.iter().filter_map(read).min().unwrap_or(usual)
}
