//! The system calls a contained command may not make.
//!
//! A deny list rather than an allow list: real programs use most calls, and this refuses what
//! reaches past files, namespaces and limits. The program is a search tree, because the kernel
//! simulates it for every system call when it is installed.

pub(super) mod names;
mod others;

use others::others;

/// What a command may open sockets to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Its own network namespace: internet families, and route queries.
    Namespace,
    /// Nothing, because there are no namespaces.
    None,
}

/// Whether programs may be created in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryFiles {
    Allowed,
    Refused,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Instruction {
    code: u16,
    yes: u8,
    no: u8,
    value: u32,
}

const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const EQUAL: u16 = 0x15;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const KEEP_BITS: u16 = 0x54;
const RETURN: u16 = 0x06;
const ALLOW: u32 = 0x7fff_0000;
const ERROR: u32 = 0x0005_0000;
const KILL: u32 = 0x8000_0000;

/// Where the kernel puts the number, the architecture and the low half of an argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

#[cfg(target_arch = "x86_64")]
const THIS_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_ARCH: u32 = 0xc000_00b7;

const NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP
    | 0x80)
    .cast_unsigned();

/// Refused whatever the arguments are.
const REFUSED: &[libc::c_long] = &[
    // Kernel memory, keys, other processes.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Namespaces and mounts.
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_fanotify_init,
    // The machine.
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_load,
];

/// Without a namespace these belong to the machine: they connect to other programs, and outlive the
/// command.
const SHARED_OBJECTS: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Without a namespace, names of sockets belong to the machine, too. A command has only pairs there,
/// which are connected already; but an end of one could still be bound to a name of another
/// program, or be given one when it is connected.
const NAMED_SOCKETS: &[libc::c_long] = &[libc::SYS_bind, libc::SYS_connect, libc::SYS_listen];

/// Newer than libc's list.
const OPEN_TREE_ATTR: libc::c_long = 467;

/// The filter in the kernel's format, eight bytes per instruction.
pub(super) fn program(sockets: Sockets, memory: MemoryFiles) -> Vec<u8> {
    let mut leaves: Vec<(u32, Vec<Instruction>)> = REFUSED
        .iter()
        .map(|&call| (number(call), refuse(libc::EPERM)))
        .collect();
    // Threads fall back to `clone`, whose flags a filter can check.
    leaves.push((number(libc::SYS_clone3), refuse(libc::ENOSYS)));
    leaves.push((number(libc::SYS_clone), refuse_bits(0, NAMESPACES)));
    leaves.push((number(libc::SYS_unshare), refuse_bits(0, NAMESPACES)));
    leaves.push((
        number(libc::SYS_ioctl),
        refuse_values(1, &[libc::TIOCSTI as u32, TIOCLINUX]),
    ));
    leaves.push((number(libc::SYS_socket), socket(sockets)));
    leaves.push((number(libc::SYS_socketpair), pairs()));
    if sockets == Sockets::None {
        leaves.extend(
            SHARED_OBJECTS
                .iter()
                .map(|&call| (number(call), refuse(libc::ENOSYS))),
        );
        let named = NAMED_SOCKETS.iter();
        leaves.extend(named.map(|&call| (number(call), refuse(libc::EPERM))));
    }
    leaves.extend(set_user());
    leaves.extend(others(sockets));
    if memory == MemoryFiles::Refused {
        leaves.push((number(libc::SYS_memfd_create), refuse(libc::ENOSYS)));
        leaves.push((number(MEMFD_SECRET), refuse(libc::ENOSYS)));
    }
    leaves.sort_by_key(|(call, _)| *call);
    leaves.dedup_by_key(|(call, _)| *call);
    let mut whole = vec![
        load(ARCH),
        test(EQUAL, THIS_ARCH, 1, 0),
        give(KILL),
        load(NUMBER),
    ];
    if cfg!(target_arch = "x86_64") {
        // The second numbering of this architecture would bypass all of ours.
        const X32: u32 = 0x4000_0000;
        whole.extend([
            test(AT_LEAST, X32, 0, 1),
            give(ERROR | libc::ENOSYS.cast_unsigned()),
        ]);
    }
    whole.extend(tree(&stretches(leaves)));
    whole.iter().flat_map(bytes).collect()
}

/// No file becomes set-user-ID: outside, what a command of root's creates in the workspace belongs
/// to root.
fn set_user() -> Vec<(u32, Vec<Instruction>)> {
    let mut leaves = vec![
        (number(libc::SYS_fchmod), refuse_bits(1, SET_USER)),
        (number(libc::SYS_fchmodat), refuse_bits(2, SET_USER)),
        (number(FCHMODAT2), refuse_bits(2, SET_USER)),
        (number(libc::SYS_mknodat), refuse_bits(2, SET_USER)),
        (number(libc::SYS_openat), refuse_made(2, 3)),
    ];
    #[cfg(target_arch = "x86_64")]
    leaves.extend([
        (number(libc::SYS_chmod), refuse_bits(1, SET_USER)),
        (number(libc::SYS_creat), refuse_bits(1, SET_USER)),
        (number(libc::SYS_mknod), refuse_bits(1, SET_USER)),
        (number(libc::SYS_open), refuse_made(1, 2)),
    ]);
    leaves
}

/// The mode bits that run a program as its owner or group.
const SET_USER: u32 = libc::S_ISUID | libc::S_ISGID;
const FCHMODAT2: libc::c_long = 452;

/// Refuses creating a file with such a mode; opening one has no mode.
fn refuse_made(flags: u32, mode: u32) -> Vec<Instruction> {
    const MAKES: u32 = (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)).cast_unsigned();
    vec![
        load(argument(flags)),
        test(ANY_BIT, MAKES, 0, 3),
        load(argument(mode)),
        test(ANY_BIT, SET_USER, 0, 1),
        refuse(libc::EPERM)[0],
        give(ALLOW),
    ]
}

const MEMFD_SECRET: libc::c_long = 447;
const TIOCLINUX: u32 = 0x541c;

fn number(call: libc::c_long) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// The answer for a range of system call numbers.
struct Stretch {
    first: u32,
    last: u32,
    then: Vec<Instruction>,
}

/// Joins ranges with the same answer: a longer program takes the kernel longer.
fn stretches(leaves: Vec<(u32, Vec<Instruction>)>) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for (call, then) in leaves {
        match found.last_mut() {
            Some(before)
                if before.last.saturating_add(1) == call
                    && before.then == then
                    && then.len() == 1 =>
            {
                before.last = call
            }
            _ => found.push(Stretch {
                first: call,
                last: call,
                then,
            }),
        }
    }
    found
}

fn tree(stretches: &[Stretch]) -> Vec<Instruction> {
    if stretches.len() <= 3 {
        let mut list = Vec::new();
        for Stretch { first, last, then } in stretches {
            let length = u8::try_from(then.len()).unwrap_or(u8::MAX);
            if first == last {
                list.push(test(EQUAL, *first, 0, length));
            } else {
                list.extend([
                    test(AT_LEAST, *first, 0, length.saturating_add(1)),
                    test(AT_LEAST, last.saturating_add(1), length, 0),
                ]);
            }
            list.extend(then);
        }
        list.push(give(ALLOW));
        return list;
    }
    let middle = stretches.len() / 2;
    let (below, above) = (tree(&stretches[..middle]), tree(&stretches[middle..]));
    let (split, length) = (stretches[middle].first, below.len());
    // A test can skip only 255 instructions, a plain jump any number.
    let mut whole = match u8::try_from(length) {
        Ok(near) => vec![test(AT_LEAST, split, near, 0)],
        Err(_) => {
            let skip = plain(JUMP, u32::try_from(length).unwrap_or(u32::MAX));
            vec![test(AT_LEAST, split, 0, 1), skip]
        }
    };
    whole.extend(below);
    whole.extend(above);
    whole
}

fn socket(sockets: Sockets) -> Vec<Instruction> {
    let refused = refuse(libc::EPERM);
    match sockets {
        Sockets::None => refused,
        Sockets::Namespace => vec![
            load(argument(0)),
            test(EQUAL, libc::AF_INET.cast_unsigned(), 4, 0),
            test(EQUAL, libc::AF_INET6.cast_unsigned(), 3, 0),
            test(EQUAL, libc::AF_NETLINK.cast_unsigned(), 0, 3),
            load(argument(2)),
            test(EQUAL, libc::NETLINK_ROUTE.cast_unsigned(), 0, 1),
            give(ALLOW),
            refused[0],
        ],
    }
}

/// Pairs that stay pairs. One end of a pair of datagram sockets could be connected, or written, to
/// any socket with a path.
fn pairs() -> Vec<Instruction> {
    const KINDS: u32 = 0xf;
    vec![
        load(argument(1)),
        plain(KEEP_BITS, KINDS),
        test(EQUAL, libc::SOCK_STREAM.cast_unsigned(), 1, 0),
        test(EQUAL, libc::SOCK_SEQPACKET.cast_unsigned(), 0, 1),
        give(ALLOW),
        refuse(libc::EPERM)[0],
    ]
}

fn refuse_bits(index: u32, bits: u32) -> Vec<Instruction> {
    vec![
        load(argument(index)),
        test(ANY_BIT, bits, 0, 1),
        refuse(libc::EPERM)[0],
        give(ALLOW),
    ]
}

fn refuse_values(index: u32, values: &[u32]) -> Vec<Instruction> {
    let mut list = vec![load(argument(index))];
    for &value in values {
        list.extend([test(EQUAL, value, 0, 1), refuse(libc::EPERM)[0]]);
    }
    list.push(give(ALLOW));
    list
}

fn refuse(error: i32) -> Vec<Instruction> {
    vec![give(ERROR | error.cast_unsigned())]
}

const fn load(offset: u32) -> Instruction {
    plain(LOAD, offset)
}

const fn give(value: u32) -> Instruction {
    plain(RETURN, value)
}

const fn plain(code: u16, value: u32) -> Instruction {
    test(code, value, 0, 0)
}

const fn test(code: u16, value: u32, yes: u8, no: u8) -> Instruction {
    Instruction {
        code,
        yes,
        no,
        value,
    }
}

fn bytes(instruction: &Instruction) -> [u8; 8] {
    let [a, b] = instruction.code.to_ne_bytes();
    let [c, d, e, f] = instruction.value.to_ne_bytes();
    [a, b, instruction.yes, instruction.no, c, d, e, f]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would answer.
    fn judge(program: &[u8], arch: u32, call: u32, args: [u32; 4]) -> u32 {
        let read = |at: usize| {
            let b = &program[at * 8..at * 8 + 8];
            (
                u16::from_ne_bytes([b[0], b[1]]),
                usize::from(b[2]),
                usize::from(b[3]),
                u32::from_ne_bytes([b[4], b[5], b[6], b[7]]),
            )
        };
        let (mut at, mut held) = (0, 0);
        loop {
            let (code, yes, no, value) = read(at);
            at += 1;
            match code {
                LOAD => {
                    held = if value == NUMBER {
                        call
                    } else if value == ARCH {
                        arch
                    } else if value % 8 == 4 {
                        // The high half of an argument, which is small here.
                        0
                    } else {
                        args[(value as usize - 16) / 8]
                    }
                }
                JUMP => at += value as usize,
                EQUAL => at += if held == value { yes } else { no },
                AT_LEAST => at += if held >= value { yes } else { no },
                ANY_BIT => at += if held & value != 0 { yes } else { no },
                KEEP_BITS => held &= value,
                RETURN => return value,
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn every_refused_call_is_refused_and_its_neighbours_are_not() {
        let program = program(Sockets::Namespace, MemoryFiles::Allowed);
        let refused: Vec<u32> = REFUSED.iter().map(|&call| number(call)).collect();
        let special = [
            libc::SYS_clone3,
            libc::SYS_clone,
            libc::SYS_unshare,
            libc::SYS_ioctl,
            libc::SYS_socket,
            libc::SYS_socketpair,
            libc::SYS_sched_setattr,
        ]
        .map(number);
        for call in 0..600 {
            let answer = judge(&program, THIS_ARCH, call, [0; 4]);
            if refused.contains(&call) {
                assert_eq!(answer, ERROR | libc::EPERM.cast_unsigned(), "{call}");
            } else if !special.contains(&call) {
                assert_eq!(answer, ALLOW, "{call}");
            }
        }
        assert_eq!(
            judge(&program, THIS_ARCH, number(libc::SYS_clone3), [0; 4]),
            ERROR | libc::ENOSYS.cast_unsigned()
        );
    }

    #[test]
    fn arguments_decide_where_a_call_has_harmless_uses() {
        let inside = program(Sockets::Namespace, MemoryFiles::Refused);
        let closed = program(Sockets::None, MemoryFiles::Allowed);
        let no = ERROR | libc::EPERM.cast_unsigned();
        let socket = number(libc::SYS_socket);
        for (family, protocol, expected) in [
            (1, 0, no),
            (2, 0, ALLOW),
            (10, 0, ALLOW),
            (16, 0, ALLOW),
            (16, 15, no),
            (17, 0, no),
            (40, 0, no),
            (38, 0, no),
        ] {
            assert_eq!(
                judge(&inside, THIS_ARCH, socket, [family, 1, protocol, 0]),
                expected,
                "{family} {protocol}"
            );
            assert_eq!(
                judge(&closed, THIS_ARCH, socket, [family, 1, protocol, 0]),
                no,
                "{family} {protocol}"
            );
        }
        for call in [libc::SYS_bind, libc::SYS_connect, libc::SYS_listen].map(number) {
            assert_eq!(judge(&inside, THIS_ARCH, call, [3, 0, 0, 0]), ALLOW);
            assert_eq!(judge(&closed, THIS_ARCH, call, [3, 0, 0, 0]), no);
        }
        let marked = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).cast_unsigned();
        for (kind, expected) in [
            (1, ALLOW),
            (5, ALLOW),
            (1 | marked, ALLOW),
            (2, no),
            (2 | marked, no),
            (3, no),
            (4, no),
            (10, no),
        ] {
            for program in [&inside, &closed] {
                assert_eq!(
                    judge(
                        program,
                        THIS_ARCH,
                        number(libc::SYS_socketpair),
                        [1, kind, 0, 0]
                    ),
                    expected,
                    "{kind}"
                );
            }
        }
        let clone = number(libc::SYS_clone);
        assert_eq!(
            judge(
                &inside,
                THIS_ARCH,
                clone,
                [libc::CLONE_VM.cast_unsigned() | 17, 0, 0, 0]
            ),
            ALLOW
        );
        assert_eq!(
            judge(
                &inside,
                THIS_ARCH,
                clone,
                [libc::CLONE_NEWUSER.cast_unsigned() | 17, 0, 0, 0]
            ),
            no
        );
        assert_eq!(
            judge(
                &inside,
                THIS_ARCH,
                number(libc::SYS_ioctl),
                [0, TIOCLINUX, 0, 0]
            ),
            no
        );
        assert_eq!(
            judge(
                &inside,
                THIS_ARCH,
                number(libc::SYS_ioctl),
                [0, 0x5401, 0, 0]
            ),
            ALLOW
        );
        assert_ne!(
            judge(&inside, THIS_ARCH, number(libc::SYS_memfd_create), [0; 4]),
            ALLOW
        );
        let (made, opened) = (libc::O_CREAT.cast_unsigned(), libc::O_RDWR.cast_unsigned());
        for (call, args, expected) in [
            (libc::SYS_fchmod, [3, 0o4755, 0, 0], no),
            (libc::SYS_fchmod, [3, 0o755, 0, 0], ALLOW),
            (libc::SYS_fchmodat, [3, 0, 0o2755, 0], no),
            (libc::SYS_fchmodat, [3, 0, 0o1777, 0], ALLOW),
            (libc::SYS_openat, [3, 0, made, 0o4755], no),
            (libc::SYS_openat, [3, 0, made, 0o644], ALLOW),
            (libc::SYS_openat, [3, 0, opened, 0o4755], ALLOW),
        ] {
            assert_eq!(
                judge(&inside, THIS_ARCH, number(call), args),
                expected,
                "{call} {args:?}"
            );
        }
    }

    #[test]
    fn another_process_is_not_changed_by_a_command() {
        let (inside, alone) = (
            program(Sockets::Namespace, MemoryFiles::Allowed),
            program(Sockets::None, MemoryFiles::Allowed),
        );
        let no = ERROR | libc::EPERM.cast_unsigned();
        // The process itself, the first process, another one; setting, and reading.
        for (call, args, in_namespace, without) in [
            (libc::SYS_prlimit64, [0, 7, 4096, 0], ALLOW, ALLOW),
            (libc::SYS_prlimit64, [1, 7, 4096, 0], no, no),
            (libc::SYS_prlimit64, [77, 7, 4096, 0], ALLOW, no),
            (libc::SYS_prlimit64, [1, 7, 0, 4096], ALLOW, ALLOW),
            (libc::SYS_prlimit64, [77, 7, 0, 4096], ALLOW, ALLOW),
            (libc::SYS_sched_setscheduler, [0, 5, 0, 0], ALLOW, ALLOW),
            (libc::SYS_sched_setscheduler, [1, 5, 0, 0], no, no),
            (libc::SYS_sched_setaffinity, [77, 8, 0, 0], ALLOW, no),
            (libc::SYS_move_pages, [1, 8, 0, 0], no, no),
            // A process, a group, all of a user.
            (libc::SYS_setpriority, [0, 0, 19, 0], ALLOW, ALLOW),
            (libc::SYS_setpriority, [0, 1, 19, 0], no, no),
            (libc::SYS_setpriority, [0, 77, 19, 0], ALLOW, no),
            (libc::SYS_setpriority, [1, 0, 19, 0], ALLOW, ALLOW),
            (libc::SYS_setpriority, [2, 0, 19, 0], no, no),
            (libc::SYS_ioprio_set, [1, 0, 0, 0], ALLOW, ALLOW),
            (libc::SYS_ioprio_set, [1, 1, 0, 0], no, no),
            (libc::SYS_ioprio_set, [2, 77, 0, 0], ALLOW, no),
            (libc::SYS_ioprio_set, [3, 0, 0, 0], no, no),
        ] {
            assert_eq!(
                judge(&inside, THIS_ARCH, number(call), args),
                in_namespace,
                "{call} {args:?}"
            );
            assert_eq!(
                judge(&alone, THIS_ARCH, number(call), args),
                without,
                "{call} {args:?}"
            );
        }
    }

    #[test]
    fn another_architecture_is_killed_and_another_numbering_is_refused() {
        let program = program(Sockets::None, MemoryFiles::Allowed);
        assert_eq!(judge(&program, 0x4000_0003, 1, [0; 4]), KILL);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(
                judge(&program, THIS_ARCH, 0x4000_0000 | 1, [0; 4]),
                ERROR | libc::ENOSYS.cast_unsigned()
            );
        }
    }
}
