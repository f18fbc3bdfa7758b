//! One process of the helper makes the network namespace while the other makes the mounts, and then
//! enters it.
//!
//! The maker writes to a pipe, once when the namespace exists and once when its content is
//! complete. The other process continues only then, and only in the namespace: if either fails or
//! ends, nothing is started.

use super::block::{ContainerBlock, NamespaceBlock, Slot, SyscallList};
use super::layout::PEER;

const STEP: &str = "a network namespace";
const NETWORK_READER: i32 = PEER + 1;

/// Writes what the processes do before they fork, and what the waiting one does first.
pub(crate) fn open_pipe(
    block: &mut NamespaceBlock,
    outer: &mut SyscallList,
    inner: &mut SyscallList,
) {
    let step = block.step(STEP);
    outer.begin(step);
    inner.begin(step);
    // The lowest numbers are assigned first, so the container knows which descriptors it must not
    // close yet.
    outer.call(libc::SYS_close_range, &[&PEER, &u32::MAX]);
    outer
        .call(libc::SYS_getpid, &[])
        .save_in(Slot::NETWORK_MAKER);
    outer
        .call(libc::SYS_pidfd_open, &[&Slot::NETWORK_MAKER])
        .save_in(Slot::NETWORK_MAKER);
    let ends = block.words(&[0]);
    outer.call(libc::SYS_pipe2, &[&ends, &libc::O_CLOEXEC]);
    outer.load(ends, Slot::NETWORK_READER);
    outer.load(ends + 4, Slot::NETWORK_WRITER);
    // So that it notices when the other process ends.
    inner.call(libc::SYS_close, &[&Slot::NETWORK_WRITER]);
}

/// Writes the creation of the namespace. Its content follows, and then [`notify_peer`] once more.
pub(crate) fn unshare(block: &mut NamespaceBlock, list: &mut SyscallList) {
    list.begin(block.step(STEP));
    list.call(libc::SYS_unshare, &[&libc::CLONE_NEWNET]);
    notify_peer(block, list);
}

/// Writes the notification of the other process.
pub(crate) fn notify_peer(block: &mut NamespaceBlock, list: &mut SyscallList) {
    list.begin(block.step(STEP));
    let done = block.words(&[0]);
    list.call(libc::SYS_write, &[&Slot::NETWORK_WRITER, &done, &4]);
}

/// Writes how the other process waits for the namespace and enters it.
pub(crate) fn enter(block: &mut ContainerBlock, list: &mut SyscallList) {
    wait_for_peer(block, list);
    list.call(
        libc::SYS_setns,
        &[&Slot::NETWORK_MAKER, &libc::CLONE_NEWNET],
    );
}

/// Writes how it waits for the content of the namespace, after which it no longer needs the maker.
pub(crate) fn wait_until_complete(block: &mut ContainerBlock, list: &mut SyscallList) {
    wait_for_peer(block, list);
    list.call(libc::SYS_close_range, &[&PEER, &NETWORK_READER]);
}

/// A peer that ends without a word leaves the error in place.
fn wait_for_peer(block: &mut ContainerBlock, list: &mut SyscallList) {
    list.begin(block.step(STEP));
    let said = block.data(&(-libc::EPIPE).to_ne_bytes());
    list.call(libc::SYS_read, &[&Slot::NETWORK_READER, &said, &4]);
    list.check(said, 0);
}
