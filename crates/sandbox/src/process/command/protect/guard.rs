//! Finishing a command even if the caller no longer waits.

use super::NameJudge;
use crate::process::child::wait_readable;
use crate::process::command::leftovers::scratch::Scratch;
use crate::process::command::limits::cgroup::Group;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

/// The judge of a running command, and its resources, which are removed when none of its processes
/// is left.
pub(in super::super) struct CommandGuard {
    pub(in super::super) judge: NameJudge,
    pub(in super::super) resources: CommandResources,
    /// Becomes readable when no process of the command is left.
    pub(in super::super) ended: OwnedFd,
}

/// What a command uses.
#[derive(Default)]
pub(in super::super) struct CommandResources {
    pub(in super::super) group: Group,
    pub(in super::super) scratch: Option<Scratch>,
}

impl Drop for CommandGuard {
    /// If the caller waited, everything is finished already. If not, the command is being ended
    /// now.
    fn drop(&mut self) {
        const LONG: Duration = Duration::from_secs(5);
        let (mut judge, resources) = (
            std::mem::take(&mut self.judge),
            std::mem::take(&mut self.resources),
        );
        if judge.is_idle() && resources.group.is_none() && resources.scratch.is_none() {
            return;
        }
        let Ok(ended) = self.ended.try_clone() else {
            return;
        };
        let finish = move || {
            let _ = wait_readable(&ended, LONG);
            judge.finish(Path::new("/"), &BTreeMap::new());
            drop(resources);
        };
        let _ = std::thread::Builder::new()
            .name("finish".into())
            .spawn(finish);
    }
}
