//! A network namespace that is made by one process while another makes the mounts, and entered by that one.
//!
//! Who makes it says so through a pipe when it is done. Who waits goes on only then, and only when it has entered the namespace: if either
//! fails, or ends, nothing is started.

use super::block::{List, PlaceBlock, Slot};

/// What the two processes need of each other.
pub(super) struct Beside {
    step: u16,
    /// The process that makes the namespace.
    maker: Slot,
    /// Where it is told that the namespace is made, and where that is heard.
    told: Slot,
    heard: Slot,
}

impl Beside {
    /// Writes the operations before the processes part, and what the one that waits does first.
    pub(super) fn new(block: &mut PlaceBlock, outer: &mut List, inner: &mut List) -> Self {
        let step = block.step("a network namespace");
        let (maker, told, heard) = (block.slot(), block.slot(), block.slot());
        outer.call_for(step, libc::SYS_getpid, [], maker);
        outer.call_for(step, libc::SYS_pidfd_open, [maker.into(), 0.into()], maker);
        let ends = block.value(&0_u64);
        outer.call(step, libc::SYS_pipe2, [ends.into(), libc::O_CLOEXEC.into()]);
        outer.load(step, ends, heard);
        outer.load(step, ends + 4, told);
        // So that the end of the other is heard.
        inner.call(step, libc::SYS_close, [told.into()]);
        Self { step, maker, told, heard }
    }

    /// Writes how the namespace is made. What is in it comes after this, and then [`end`](Self::end).
    pub(super) fn begin(&self, list: &mut List) {
        list.call(self.step, libc::SYS_unshare, [libc::CLONE_NEWNET.into()]);
    }

    pub(super) fn end(&self, block: &mut PlaceBlock, list: &mut List) {
        let done = block.value(&0_u64);
        list.call(self.step, libc::SYS_write, [self.told.into(), done.into(), 4.into()]);
    }

    /// Writes how the other process waits for the namespace and enters it. Whoever says nothing leaves the error where it is.
    pub(super) fn enter(&self, block: &mut PlaceBlock, list: &mut List) {
        let said = block.data(&(-libc::EPIPE).to_ne_bytes());
        list.call(self.step, libc::SYS_read, [self.heard.into(), said.into(), 4.into()]);
        list.check(self.step, said, 0);
        list.call(self.step, libc::SYS_setns, [self.maker.into(), libc::CLONE_NEWNET.into()]);
    }
}
