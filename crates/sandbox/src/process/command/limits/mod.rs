//! How much a command may use.

pub(crate) mod cgroup;
pub(crate) mod inotify;
pub(crate) mod memory;
pub(crate) mod process_count;
pub(crate) mod rlimit;
