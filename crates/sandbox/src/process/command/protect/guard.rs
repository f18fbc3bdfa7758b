//! Keeping what governs calls, and leaving nothing behind, also for a caller that no longer waits.

use super::Protected;
use crate::process::command::leftovers::scratch::Scratch;
use crate::process::command::limits::cgroup::Group;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::os::fd::OwnedFd;

/// What is protected while a command runs, and what it has that is removed when nothing of it is left.
pub(in super::super) struct Keeping {
    pub(in super::super) protected: Protected,
    pub(in super::super) had: Had,
    /// Can be read when nothing of the command is left.
    ended: OwnedFd,
}

/// What a command has.
#[derive(Default)]
pub(in super::super) struct Had {
    pub(in super::super) group: Group,
    pub(in super::super) scratch: Option<Scratch>,
}

impl Keeping {
    pub(in super::super) fn new(protected: Protected, had: Had, ended: OwnedFd) -> Self {
        Self {
            protected,
            had,
            ended,
        }
    }
}

impl Drop for Keeping {
    /// A caller that waited has restored it already. For one that did not, the command is being ended now.
    fn drop(&mut self) {
        const LONG: Timespec = Timespec {
            tv_sec: 5,
            tv_nsec: 0,
        };
        let (mut protected, had) = (
            std::mem::take(&mut self.protected),
            std::mem::take(&mut self.had),
        );
        if !protected.has_work() && had.group.is_none() && had.scratch.is_none() {
            return;
        }
        let Ok(ended) = self.ended.try_clone() else {
            return;
        };
        let restore = move || {
            let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&LONG));
            protected.restore();
            drop(had);
        };
        let _ = std::thread::Builder::new()
            .name("restore".into())
            .spawn(restore);
    }
}
