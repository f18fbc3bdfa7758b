//! Restoring protected files and cleaning up, even if the caller no longer waits.

use super::ProtectedFiles;
use crate::process::child::wait_readable;
use crate::process::command::leftovers::scratch::Scratch;
use crate::process::command::limits::cgroup::Group;
use crate::process::command::warm::pool::ContainerPool;
use std::os::fd::OwnedFd;
use std::sync::Weak;
use std::time::Duration;

/// The protected files of a running command, and its resources, which are removed when none of its
/// processes is left.
pub(in super::super) struct ProtectionGuard {
    pub(in super::super) protected: ProtectedFiles,
    pub(in super::super) resources: CommandResources,
    /// Becomes readable when no process of the command is left.
    pub(in super::super) ended: OwnedFd,
    pub(in super::super) pool: Weak<ContainerPool>,
}

/// What a command uses.
#[derive(Default)]
pub(in super::super) struct CommandResources {
    pub(in super::super) group: Group,
    pub(in super::super) scratch: Option<Scratch>,
}

impl Drop for ProtectionGuard {
    /// If the caller waited, everything is restored already. If not, the command is being ended
    /// now.
    fn drop(&mut self) {
        const LONG: Duration = Duration::from_secs(5);
        let (mut protected, resources) = (
            std::mem::take(&mut self.protected),
            std::mem::take(&mut self.resources),
        );
        if !protected.has_roots() && resources.group.is_none() && resources.scratch.is_none() {
            return;
        }
        let Ok(ended) = self.ended.try_clone() else {
            return;
        };
        let pool = self.pool.clone();
        let restore = move || {
            let _ = wait_readable(&ended, LONG);
            protected.restore(pool.upgrade().as_deref());
            drop(resources);
        };
        let _ = std::thread::Builder::new()
            .name("restore".into())
            .spawn(restore);
    }
}
