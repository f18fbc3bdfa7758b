//! Keeping what governs calls also for a caller that no longer waits.

use super::Protected;
use crate::process::command::SandboxError;
use crate::process::command::spawn::Helper;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::Timespec;
use std::os::fd::OwnedFd;

/// What is protected while a command runs.
pub(in super::super) struct Keeping {
    pub(in super::super) protected: Protected,
    /// Can be read when nothing of the command is left.
    ended: OwnedFd,
}

impl Keeping {
    pub(in super::super) fn of(protected: Protected, helper: &Helper) -> Result<Self, SandboxError> {
        let ended = helper.process.pidfd.try_clone().map_err(SandboxError::step("pidfd"))?;
        Ok(Self { protected, ended })
    }
}

impl Drop for Keeping {
    /// A caller that waited has restored it already. For one that did not, the command is being ended now.
    fn drop(&mut self) {
        const LONG: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
        let mut protected = std::mem::take(&mut self.protected);
        if !protected.has_work() {
            return;
        }
        let Ok(ended) = self.ended.try_clone() else { return };
        let restore = move || {
            let _ = poll(&mut [PollFd::new(&ended, PollFlags::IN)], Some(&LONG));
            protected.restore();
        };
        let _ = std::thread::Builder::new().name("restore".into()).spawn(restore);
    }
}
