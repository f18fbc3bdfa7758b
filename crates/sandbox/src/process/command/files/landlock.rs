//! Landlock: which parts of the file tree may be used how. The helper makes the rules, because they
//! are about what it mounted.

use super::mounts::{CLOSE_ON_EXEC, NO_LINKS};
use crate::process::command::helper::block::{CommandBlock, ContainerBlock, Slot, SyscallList};
use std::path::PathBuf;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const MAKE_CHAR: u64 = 1 << 6;
const MAKE_SOCK: u64 = 1 << 9;
const MAKE_BLOCK: u64 = 1 << 11;
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const IOCTL_DEV: u64 = 1 << 15;
/// Rights that only apply to folders.
const OF_FOLDERS: u64 = READ_DIR | (0x1ff << 4) | REFER;

/// Not a right: resolve the path without following links. For places that commands may change,
/// where a link may lie by now.
pub(crate) const RESOLVE_NO_LINKS: u64 = 1 << 63;

/// Not a right: the path may be gone by now. For entries of a folder that was listed; without the
/// rule for a place of the plan, a command would run with fewer rights than it needs.
pub(crate) const MAY_BE_GONE: u64 = 1 << 62;

pub(crate) const READ: u64 = READ_FILE | READ_DIR;
pub(crate) const RUN: u64 = EXECUTE;
pub(crate) const DEVICE: u64 = READ_FILE | WRITE_FILE | IOCTL_DEV;

/// The oldest version that is useful in namespaces: earlier ones forbid all moves between folders.
pub(crate) const OLDEST_IN_NAMESPACES: i32 = 2;
/// The oldest version that can forbid truncation, and so protect files on its own.
pub(crate) const OLDEST_ALONE: i32 = 3;
/// The first version that keeps signals and abstract sockets inside.
pub(crate) const FIRST_WITH_SCOPES: i32 = 6;
/// The first version that reports what it refused.
const FIRST_WITH_REPORTS: i32 = 7;

/// Everything this version can forbid.
fn handled(version: i32) -> u64 {
    match version {
        ..=2 => 0x1fff | REFER,
        3 | 4 => 0x1fff | REFER | TRUNCATE,
        _ => 0x1fff | REFER | TRUNCATE | IOCTL_DEV,
    }
}

/// Reading and changing files; no device files, no sockets.
pub(crate) fn change(version: i32) -> u64 {
    handled(version) & !(EXECUTE | IOCTL_DEV | MAKE_CHAR | MAKE_BLOCK | MAKE_SOCK)
}

/// A place and the rights on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) path: PathBuf,
    pub(crate) rights: u64,
    pub(crate) is_folder: bool,
}

/// The version of this kernel; an error if it has no Landlock.
pub(crate) fn version() -> Result<i32, std::io::Error> {
    const ASK: u32 = 1;
    // SAFETY: with this flag the call takes no pointer.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            ASK,
        )
    };
    if answer < 0 {
        Err(std::io::Error::last_os_error())
    } else {
        Ok(i32::try_from(answer).unwrap_or(0))
    }
}

/// Writes the operations that make the ruleset; none if this version is useless.
pub(crate) fn make(
    block: &mut ContainerBlock,
    list: &mut SyscallList,
    version: i32,
    rules: &[Rule],
) {
    if version < OLDEST_IN_NAMESPACES {
        return;
    }
    list.begin(block.step("Landlock"));
    let handled = handled(version);
    let scopes = if version >= FIRST_WITH_SCOPES { 3 } else { 0 };
    // The filter and the namespace restrict the network: Landlock's network rules only know ports.
    let attributes = block.words(&[handled, 0, scopes]);
    let size: u64 = match version {
        ..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    };
    let set = Slot::RULES;
    list.call(libc::SYS_landlock_create_ruleset, &[&attributes, &size])
        .save_in(set);
    let place = block.slot();
    for rule in rules {
        let mut rights = rule.rights & handled;
        if !rule.is_folder {
            rights &= !OF_FOLDERS;
        }
        let path = block.path(&rule.path);
        let flags = u64::from(libc::O_PATH.cast_unsigned() | CLOSE_ON_EXEC);
        let how = if rule.rights & RESOLVE_NO_LINKS == 0 {
            block.words(&[flags, 0, 0])
        } else {
            block.words(&[flags, 0, NO_LINKS])
        };
        // What somebody removed since the folder around it was listed needs no rights.
        let may_be_gone = rule.rights & MAY_BE_GONE != 0;
        let (gone, unopened) = if may_be_gone {
            (libc::ENOENT, libc::EBADF)
        } else {
            (0, 0)
        };
        list.call(libc::SYS_openat2, &[&libc::AT_FDCWD, &path, &how, &24])
            .may_fail_with(gone)
            .save_in(place);
        let beneath = block.words(&[rights, 0]);
        list.poke(beneath + 8, place);
        list.call(libc::SYS_landlock_add_rule, &[&set, &1, &beneath])
            .may_fail_with(unopened);
        list.close(place);
    }
}

/// Writes the operations after which the helper can signal only its descendants, so that it can
/// kill them all in one step; returns whether this version can do so. Must come after giving up new
/// privileges.
pub(crate) fn keep_signals(
    block: &mut ContainerBlock,
    list: &mut SyscallList,
    version: i32,
) -> bool {
    const SIGNALS: u64 = 2;
    // Killing all descendants tries every process of the machine, and each refusal would be
    // reported.
    const SAY_NOTHING: u32 = 1;
    if version < FIRST_WITH_SCOPES {
        return false;
    }
    list.begin(block.step("signals that stay inside"));
    let (attributes, set) = (block.words(&[0, 0, SIGNALS]), block.slot());
    let flags = if version >= FIRST_WITH_REPORTS {
        SAY_NOTHING
    } else {
        0
    };
    list.call(libc::SYS_landlock_create_ruleset, &[&attributes, &24])
        .save_in(set);
    list.call(libc::SYS_landlock_restrict_self, &[&set, &flags]);
    list.close(set);
    true
}

/// Writes the operation that binds a process to the ruleset for good.
pub(crate) fn restrict(block: &mut CommandBlock, list: &mut SyscallList) {
    list.begin(block.step("Landlock"));
    list.call(libc::SYS_landlock_restrict_self, &[&Slot::RULES]);
}
