//! A network namespace that is made by one process, while another makes the mounts, and entered by that one.
//!
//! Who makes it says so through a pipe, once when it is there and once when what belongs into it is. Who waits goes on only then, and only
//! when it has entered the namespace: if either fails, or ends, nothing is started.

use super::block::{GroundBlock, List, PlaceBlock, Slot};
use super::layout::BESIDE;

const STEP: &str = "a network namespace";
const HEARD: i32 = BESIDE + 1;

/// Writes the operations before the processes part, and what the one that waits does first.
pub(crate) fn part(block: &mut GroundBlock, outer: &mut List, inner: &mut List) {
    let step = block.step(STEP);
    // The lowest numbers are given out first, so that the place knows which ones it must not close yet.
    outer.call(
        step,
        libc::SYS_close_range,
        [BESIDE.into(), u32::MAX.into(), 0.into()],
    );
    outer.call_for(step, libc::SYS_getpid, [], Slot::MAKER);
    outer.call_for(
        step,
        libc::SYS_pidfd_open,
        [Slot::MAKER.into(), 0.into()],
        Slot::MAKER,
    );
    let ends = block.value(&0_u64);
    outer.call(step, libc::SYS_pipe2, [ends.into(), libc::O_CLOEXEC.into()]);
    outer.load(step, ends, Slot::HEARD);
    outer.load(step, ends + 4, Slot::TOLD);
    // So that the end of the other is heard.
    inner.call(step, libc::SYS_close, [Slot::TOLD.into()]);
}

/// Writes how the namespace is made. What is in it comes after this, and then [`tell`] once more.
pub(crate) fn make(block: &mut GroundBlock, list: &mut List) {
    let step = block.step(STEP);
    list.call(step, libc::SYS_unshare, [libc::CLONE_NEWNET.into()]);
    tell(block, list);
}

/// Writes how the other process is told.
pub(crate) fn tell(block: &mut GroundBlock, list: &mut List) {
    let step = block.step(STEP);
    let done = block.value(&0_u64);
    list.call(
        step,
        libc::SYS_write,
        [Slot::TOLD.into(), done.into(), 4.into()],
    );
}

/// Writes how the other process waits for the namespace and enters it.
pub(crate) fn enter(block: &mut PlaceBlock, list: &mut List) {
    let step = hear(block, list);
    list.call(
        step,
        libc::SYS_setns,
        [Slot::MAKER.into(), libc::CLONE_NEWNET.into()],
    );
}

/// Writes how it waits for what is in the namespace, and needs nothing more of who made it.
pub(crate) fn finish(block: &mut PlaceBlock, list: &mut List) {
    let step = hear(block, list);
    list.call(
        step,
        libc::SYS_close_range,
        [BESIDE.into(), HEARD.into(), 0.into()],
    );
}

/// Whoever says nothing leaves the error where it is.
fn hear(block: &mut PlaceBlock, list: &mut List) -> u16 {
    let step = block.step(STEP);
    let said = block.data(&(-libc::EPIPE).to_ne_bytes());
    list.call(
        step,
        libc::SYS_read,
        [Slot::HEARD.into(), said.into(), 4.into()],
    );
    list.check(step, said, 0);
    step
}
