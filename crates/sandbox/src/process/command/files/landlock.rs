//! Landlock: what of the file tree may be used how. The rules are made by the helper, because they are about what it mounted.

use super::mounts::{CLOSE_ON_EXEC, NO_LINKS};
use crate::process::command::helper::block::{CommandBlock, List, PlaceBlock, Slot};
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
/// What only a folder can be given.
const OF_FOLDERS: u64 = READ_DIR | (0x1ff << 4) | REFER;

/// Not a right: no link on the way to the place is followed. For places that commands may change, where one may lie by now.
pub(crate) const REAL: u64 = 1 << 63;

pub(crate) const READ: u64 = READ_FILE | READ_DIR;
pub(crate) const RUN: u64 = EXECUTE;
pub(crate) const DEVICE: u64 = READ_FILE | WRITE_FILE | IOCTL_DEV;

/// The oldest version that is of use inside of namespaces: one before lets nothing be moved from folder to folder.
pub(crate) const INSIDE: i32 = 2;
/// The oldest that can refuse to truncate, and so the oldest that keeps files unchanged by itself.
pub(crate) const ALONE: i32 = 3;
/// The first that keeps signals and abstract sockets inside.
pub(crate) const SCOPES: i32 = 6;
/// The first that reports what it refused.
const REPORTS: i32 = 7;

/// Everything this version can refuse.
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

/// A place and what may be done there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) path: PathBuf,
    pub(crate) rights: u64,
    pub(crate) is_folder: bool,
}

/// The version of this kernel; `None` when there is no Landlock.
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

/// Writes the operations that make the rules, for the command to be bound to; none where this version is of no use.
pub(crate) fn make(block: &mut PlaceBlock, list: &mut List, version: i32, rules: &[Rule]) {
    if version < INSIDE {
        return;
    }
    let step = block.step("Landlock");
    let handled = handled(version);
    let scopes = if version >= SCOPES { 3 } else { 0 };
    // The network is the filter's and the namespace's matter: Landlock's rules there know only ports.
    let attributes = block.value(&[handled, 0, scopes]);
    let size: u64 = match version {
        ..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    };
    let set = Slot::RULES;
    list.call_for(
        step,
        libc::SYS_landlock_create_ruleset,
        [attributes.into(), size.into(), 0.into()],
        set,
    );
    let place = block.slot();
    for rule in rules {
        let rights = rule.rights
            & handled
            & if rule.is_folder {
                u64::MAX
            } else {
                !OF_FOLDERS
            };
        let path = block.path(&rule.path);
        let flags = libc::O_PATH.cast_unsigned() | CLOSE_ON_EXEC;
        if rule.rights & REAL == 0 {
            list.call_for(
                step,
                libc::SYS_openat,
                [libc::AT_FDCWD.into(), path.into(), flags.into(), 0.into()],
                place,
            );
        } else {
            let how = block.value(&[u64::from(flags), 0, NO_LINKS]);
            list.call_for(
                step,
                libc::SYS_openat2,
                [libc::AT_FDCWD.into(), path.into(), how.into(), 24.into()],
                place,
            );
        }
        let mut bytes = rights.to_ne_bytes().to_vec();
        bytes.extend([0; 4]);
        let beneath = block.data(&bytes);
        list.poke(step, beneath + 8, place);
        list.call(
            step,
            libc::SYS_landlock_add_rule,
            [set.into(), 1.into(), beneath.into(), 0.into()],
        );
        list.try_call(step, libc::SYS_close, [place.into()]);
    }
}

/// Writes the operations after which the helper signals nobody but what comes from it, so that it can end all of that in one step; gives whether
/// this version can do so. No new privileges must be had by then.
pub(crate) fn keep_signals(block: &mut PlaceBlock, list: &mut List, version: i32) -> bool {
    const SIGNALS: u64 = 2;
    // Ending everybody tries all processes of the machine, and each that is none of ours would be reported.
    const SAY_NOTHING: u32 = 1;
    if version < SCOPES {
        return false;
    }
    let step = block.step("signals that stay inside");
    let (attributes, set) = (block.value(&[0, 0, SIGNALS]), block.slot());
    let flags = if version >= REPORTS { SAY_NOTHING } else { 0 };
    list.call_for(
        step,
        libc::SYS_landlock_create_ruleset,
        [attributes.into(), 24.into(), 0.into()],
        set,
    );
    list.call(
        step,
        libc::SYS_landlock_restrict_self,
        [set.into(), flags.into()],
    );
    list.try_call(step, libc::SYS_close, [set.into()]);
    true
}

/// Writes the operation that binds a process to the rules for good.
pub(crate) fn restrict(block: &mut CommandBlock, list: &mut List) {
    let step = block.step("Landlock");
    list.call(
        step,
        libc::SYS_landlock_restrict_self,
        [Slot::RULES.into(), 0.into()],
    );
}
