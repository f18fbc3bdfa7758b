//! The calls that make or remove names, or open files for writing: the kernel hands them to the
//! helper, which makes them in the command's place.

use super::{
    ALLOW, ANY_BIT, Instruction, THIS_ARCH, argument, give, load, number, refuse, stretches, test,
    tree,
};
use super::{ARCH, EQUAL, KILL, NUMBER};

/// The kernel waits for the helper's answer.
const NOTIFY: u32 = 0x7fc0_0000;

/// Who answers these calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Answers {
    /// The helper.
    Helper,
    /// The kernel: another program supervises names here.
    Kernel,
}

/// Calls with a path that always make or remove a name.
const NAMES: &[libc::c_long] = &[
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_renameat2,
    libc::SYS_unlinkat,
    libc::SYS_truncate,
    // It has no path, but names are made with it.
    libc::SYS_umask,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
];

/// The filter in the kernel's format.
pub(in super::super) fn program(answers: Answers) -> Vec<u8> {
    // What it opens is in memory, where a filter cannot look; programs fall back to `openat`.
    let mut leaves = vec![(number(libc::SYS_openat2), refuse(libc::ENOSYS))];
    if answers == Answers::Helper {
        leaves.extend(NAMES.iter().map(|&call| (number(call), vec![give(NOTIFY)])));
        leaves.push((number(libc::SYS_openat), opens(2)));
        #[cfg(target_arch = "x86_64")]
        leaves.push((number(libc::SYS_open), opens(1)));
    }
    leaves.sort_by_key(|(call, _)| *call);
    let mut whole = vec![
        load(ARCH),
        test(EQUAL, THIS_ARCH, 1, 0),
        give(KILL),
        load(NUMBER),
    ];
    whole.extend(tree(&stretches(leaves)));
    whole.iter().flat_map(super::bytes).collect()
}

/// Opening for anything but reading.
fn opens(flags: u32) -> Vec<Instruction> {
    const CHANGES: u32 =
        (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | (libc::O_TMPFILE & !libc::O_DIRECTORY))
            .cast_unsigned();
    vec![
        load(argument(flags)),
        test(ANY_BIT, CHANGES, 0, 1),
        give(NOTIFY),
        give(ALLOW),
    ]
}
