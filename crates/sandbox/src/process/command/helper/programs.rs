//! The three blocks of a command: its namespaces, the place it runs in, and what it becomes there.

use super::block::{Arg, Block, CommandBlock, Filled, GroundBlock, List, PlaceBlock, Plain};
use super::filter::{MemoryFiles, Sockets, program};
use super::layout::{ALONE, BESIDE, FURTHER, GUARDED, Ground, NAMESPACE, Place, Start};
use super::network::{Ports, listen, reach_itself};
use super::network_namespace;
use super::processors;
use super::scheduling::{self, Children};
use crate::network::INSIDE_NAME;
use crate::plan::{Limits, Plan, Programs};
use crate::process::command::files::identity::{Change, Identity};
use crate::process::command::files::landlock::{self, Rule};
use crate::process::command::files::mounts::{CLOSE_ON_EXEC, lay};
use crate::process::command::files::view::View;
use crate::process::command::leftovers::scratch::PROFILE;
use crate::process::command::limits::rlimit::{Held, limit};
use crate::process::command::prepare::PRIVATE;
use crate::process::command::watch::START;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// What is known of a place when its block is written.
pub(crate) struct Room<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) identity: Identity,
    /// What is passed with it.
    pub(crate) trees: &'a [PathBuf],
    /// Landlock's version and rules; `None` to contain nothing.
    pub(crate) landlock: Option<(i32, Vec<Rule>)>,
}

/// What is known of a command when its block is written.
pub(crate) struct Parts<'a> {
    pub(crate) program: &'a Path,
    pub(crate) name: &'a OsStr,
    pub(crate) args: &'a [OsString],
    pub(crate) folder: &'a Path,
    pub(crate) environment: Vec<String>,
    pub(crate) limits: &'a Limits,
    pub(crate) held: Held,
    /// Processes of the same user that the process limit counts too.
    pub(crate) others: u64,
    /// Whether the place has Landlock's rules for it.
    pub(crate) is_ruled: bool,
    /// The `.profile` to write into its private home, where that is made for each command.
    pub(crate) profile: Option<String>,
    /// The class of turns it shall have, where it is one that comes after others.
    pub(crate) class: Option<i32>,
    /// The priority it shall have, where the helper has another.
    pub(crate) priority: Option<i32>,
    pub(crate) time_left: Duration,
}

pub(crate) const BECOMING: &str = "becoming an unprivileged user";

/// Those that the first process makes before there is a second. Then it makes the network's.
const FIRST_NAMESPACES: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWPID;
/// Those that the second makes meanwhile.
const SECOND_NAMESPACES: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// The namespaces of a command, whatever it will see in them.
pub(crate) fn namespaces(identity: &Identity, ports: Option<&Ports>) -> Filled {
    let mut block = GroundBlock::ground();
    let (mut outer, mut inner, mut network) = (List::default(), List::default(), List::default());
    take_signals(&mut block, &mut outer);
    scheduling::early(&mut block, &mut outer, identity, Children::Alike);
    scheduling::early(&mut block, &mut inner, identity, Children::Ordinary);
    become_other(&mut block, &mut outer, identity);
    let step = block.step("namespaces");
    // Changing the user closed `/proc/self` to itself.
    outer.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_SET_DUMPABLE.into(),
            1.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
    outer.call(step, libc::SYS_unshare, [FIRST_NAMESPACES.into()]);
    let end = block.step("ending with the helper");
    die_with_parent(end, &mut inner);
    // The kernel takes as long to make a network namespace as to make all the mounts, so each is made by another process.
    network_namespace::part(&mut block, &mut outer, &mut inner);
    network_namespace::make(&mut block, &mut network);
    match ports {
        Some(ports) => listen(&mut block, &mut network, ports),
        None => reach_itself(&mut block, &mut network),
    }
    network_namespace::tell(&mut block, &mut network);
    inner.call(step, libc::SYS_unshare, [SECOND_NAMESPACES.into()]);
    let own_name = block.step("a host name of its own");
    let name = block.text(INSIDE_NAME);
    inner.call(
        own_name,
        libc::SYS_sethostname,
        [name.into(), (INSIDE_NAME.len() as u64).into()],
    );
    map_user(&mut block, &mut inner, identity);
    bound_capabilities(&mut block, &mut inner);
    finish(block, NAMESPACE, &outer, &inner, &network)
}

/// No namespaces.
pub(crate) fn no_namespaces(identity: &Identity) -> Filled {
    let mut block = GroundBlock::ground();
    let (mut outer, mut inner) = (List::default(), List::default());
    take_signals(&mut block, &mut outer);
    scheduling::early(&mut block, &mut outer, identity, Children::Alike);
    scheduling::early(&mut block, &mut inner, identity, Children::Ordinary);
    let step = block.step("closing descriptors");
    outer.call(
        step,
        libc::SYS_close_range,
        [BESIDE.into(), u32::MAX.into(), 0.into()],
    );
    // The second process is in the command's control groups and of its user, and can be ended by the kernel for want of memory, or by others. What
    // it leaves then becomes the first's.
    keep_track(&mut block, &mut outer);
    finish(block, GUARDED, &outer, &inner, &List::default())
}

/// A user namespace, and nothing else.
pub(crate) fn user_namespace() -> Filled {
    let mut block = GroundBlock::ground();
    let mut outer = List::default();
    take_signals(&mut block, &mut outer);
    let step = block.step("a user namespace");
    outer.call(step, libc::SYS_unshare, [libc::CLONE_NEWUSER.into()]);
    finish(block, ALONE, &outer, &List::default(), &List::default())
}

/// The helper starts with every signal held back.
fn take_signals<Head: Plain>(block: &mut Block<Head>, list: &mut List) {
    let step = block.step("signals");
    let nothing = block.value(&0_u64);
    list.call(
        step,
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK.into(), nothing.into(), 0.into(), 8.into()],
    );
}

fn finish(
    mut block: GroundBlock,
    processes: u64,
    outer: &List,
    inner: &List,
    beside: &List,
) -> Filled {
    let (outer, inner, beside) = (
        block.script(outer),
        block.script(inner),
        block.script(beside),
    );
    let set = processors::allowed();
    let bytes: Vec<u8> = set.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let processors = [block.data(&bytes), set.len() as u64];
    block.finish(|bytes| Ground {
        bytes,
        processes,
        outer,
        inner,
        beside,
        processors,
    })
}

/// A place in [`namespaces`].
pub(crate) fn with_namespaces(room: &Room<'_>, view: &View) -> Filled {
    let mut block = PlaceBlock::place(room.trees.len());
    let mut list = List::default();
    lay(&mut block, &mut list, room.plan, view, room.trees);
    let step = block.step("closing descriptors");
    list.call(
        step,
        libc::SYS_close_range,
        [FURTHER.into(), u32::MAX.into(), 0.into()],
    );
    if let Some((version, rules)) = &room.landlock {
        landlock::make(&mut block, &mut list, *version, rules);
    }
    // As late as can be, and the filter, which takes the kernel a while, before the network must be complete.
    network_namespace::enter(&mut block, &mut list);
    give_up_capabilities(&mut block, &mut list);
    confine(&mut block, &mut list, room, Sockets::Namespace);
    network_namespace::finish(&mut block, &mut list);
    made(block, &list, false)
}

/// A place without namespaces.
pub(crate) fn without_namespaces(room: &Room<'_>) -> Filled {
    let mut block = PlaceBlock::place(0);
    let mut list = List::default();
    if let Some((version, rules)) = &room.landlock {
        // The rules first: whoever the command will be may not be able to reach all they are about.
        landlock::make(&mut block, &mut list, *version, rules);
        become_other(&mut block, &mut list, &room.identity);
    }
    keep_track(&mut block, &mut list);
    confine(&mut block, &mut list, room, Sockets::None);
    let is_scoped = room
        .landlock
        .as_ref()
        .is_some_and(|(version, _)| landlock::keep_signals(&mut block, &mut list, *version));
    made(block, &list, is_scoped)
}

/// Orphans become the children of this process, and nobody of its user looks into it.
fn keep_track<Head: Plain>(block: &mut Block<Head>, list: &mut List) {
    let step = block.step("keeping track of descendants");
    list.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_SET_CHILD_SUBREAPER.into(),
            1.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
    list.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_SET_DUMPABLE.into(),
            0.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
}

/// A place in which nothing is made.
pub(crate) fn nothing() -> Filled {
    made(PlaceBlock::place(0), &List::default(), false)
}

fn made(mut block: PlaceBlock, list: &List, is_scoped: bool) -> Filled {
    let make = block.script(list);
    block.finish(|bytes| Place {
        bytes,
        make,
        is_scoped: is_scoped.into(),
    })
}

/// What a process does in its place to become the command.
pub(crate) fn command(parts: &Parts<'_>) -> Filled {
    let mut block = CommandBlock::command();
    let mut list = List::default();
    become_command(&mut block, &mut list, parts);
    let names = std::iter::once(parts.name)
        .chain(parts.args.iter().map(OsString::as_os_str))
        .map(OsStr::as_bytes);
    let start = Start {
        bytes: 0,
        command: block.script(&list),
        program: block.path(parts.program),
        arguments: block.texts(names),
        environment: block.texts(&parts.environment),
        start_step: block.step(START).into(),
        time_left: u64::try_from(parts.time_left.as_nanos()).unwrap_or(u64::MAX),
    };
    block.finish(|bytes| Start { bytes, ..start })
}

fn become_other<Head: Plain>(block: &mut Block<Head>, list: &mut List, identity: &Identity) {
    if identity.change == Change::None {
        return;
    }
    let step = block.step(BECOMING);
    let (uid, gid) = (identity.uid, identity.gid);
    list.call(step, libc::SYS_setgroups, [0.into(), 0.into()]);
    list.call(
        step,
        libc::SYS_setresgid,
        [gid.into(), gid.into(), gid.into()],
    );
    list.call(
        step,
        libc::SYS_setresuid,
        [uid.into(), uid.into(), uid.into()],
    );
}

fn map_user(block: &mut GroundBlock, list: &mut List, identity: &Identity) {
    let step = block.step("the user of the namespace");
    let (uid, gid) = (identity.uid, identity.gid);
    for (file, text) in [
        (c"/proc/self/setgroups", "deny".to_owned()),
        (c"/proc/self/uid_map", format!("{uid} {uid} 1")),
        (c"/proc/self/gid_map", format!("{gid} {gid} 1")),
    ] {
        let slot = block.slot();
        let (path, length, text) = (block.literal(file), text.len() as u64, block.text(text));
        let flags = libc::O_WRONLY.cast_unsigned() | CLOSE_ON_EXEC;
        list.call_for(
            step,
            libc::SYS_openat,
            [libc::AT_FDCWD.into(), path.into(), flags.into(), 0.into()],
            slot,
        );
        list.call(
            step,
            libc::SYS_write,
            [slot.into(), text.into(), length.into()],
        );
        list.try_call(step, libc::SYS_close, [slot.into()]);
    }
}

fn die_with_parent(step: u16, list: &mut List) {
    list.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_SET_PDEATHSIG.into(),
            libc::SIGKILL.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
}

/// No program that is started gets capabilities. The process itself keeps those it has, for as long as it makes the place.
fn bound_capabilities(block: &mut GroundBlock, list: &mut List) {
    let step = block.step("giving up capabilities");
    for capability in 0..=last_capability() {
        // Where nobody knows how many there are: beyond the last one there is nothing to give up.
        let args: [Arg; 5] = [
            libc::PR_CAPBSET_DROP.into(),
            capability.into(),
            0.into(),
            0.into(),
            0.into(),
        ];
        list.call_unless(step, libc::SYS_prctl, args, libc::EINVAL);
    }
    list.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_CAP_AMBIENT.into(),
            libc::PR_CAP_AMBIENT_CLEAR_ALL.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
    // No user number gives capabilities back, and that is for good.
    const LOCKED: u32 = 0x3 | 0xc | 0xc0;
    list.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_SET_SECUREBITS.into(),
            LOCKED.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
}

/// The last one that this kernel has.
fn last_capability() -> u32 {
    const MOST: u32 = 63;
    static LAST: OnceLock<u32> = OnceLock::new();
    let read = || {
        std::fs::read_to_string("/proc/sys/kernel/cap_last_cap")
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    *LAST.get_or_init(|| read().unwrap_or(MOST))
}

fn give_up_capabilities(block: &mut PlaceBlock, list: &mut List) {
    let step = block.step("giving up capabilities");
    const THIRD_VERSION: u64 = 0x2008_0522;
    let head = block.value(&THIRD_VERSION);
    let none = block.data(&[0; 24]);
    list.call(step, libc::SYS_capset, [head.into(), none.into()]);
    list.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_SET_DUMPABLE.into(),
            0.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
}

/// What holds for everything in the place: no new privileges, and the system call filter. Landlock's rules were made before, and the
/// command is bound to them later: whoever watches over it stays outside of them.
fn confine(block: &mut PlaceBlock, list: &mut List, room: &Room<'_>, sockets: Sockets) {
    let step = block.step("no new privileges");
    list.call(
        step,
        libc::SYS_prctl,
        [
            libc::PR_SET_NO_NEW_PRIVS.into(),
            1.into(),
            0.into(),
            0.into(),
            0.into(),
        ],
    );
    if room.landlock.is_none() {
        return;
    }
    let step = block.step("the system call filter");
    let code = filter(sockets, &room.plan.programs);
    let count = code.len() as u64 / 8;
    let code = block.data(code);
    let program = block.value(&[count, code]);
    const SET_FILTER: u32 = 1;
    list.call(
        step,
        libc::SYS_seccomp,
        [SET_FILTER.into(), 0.into(), program.into()],
    );
}

fn become_command(block: &mut CommandBlock, list: &mut List, parts: &Parts<'_>) {
    let step = block.step("a session of its own");
    let nothing = block.value(&0_u64);
    list.call(
        step,
        libc::SYS_rt_sigprocmask,
        [libc::SIG_SETMASK.into(), nothing.into(), 0.into(), 8.into()],
    );
    list.call(step, libc::SYS_setsid, []);
    die_with_parent(step, list);
    list.call(step, libc::SYS_umask, [0o022.into()]);
    if let Some(priority) = parts.priority {
        list.try_call(
            step,
            libc::SYS_setpriority,
            [libc::PRIO_PROCESS.into(), 0.into(), priority.into()],
        );
    }
    if let Some(class) = parts.class {
        list.try_call(
            step,
            libc::SYS_sched_setscheduler,
            [0.into(), class.into(), nothing.into()],
        );
    }
    if let Some(profile) = &parts.profile {
        write_profile(block, list, profile);
    }
    let step = block.step("the folder to start in");
    let folder = block.path(parts.folder);
    list.call(step, libc::SYS_chdir, [folder.into()]);
    limit(block, list, parts.limits, parts.held, parts.others);
    if parts.is_ruled {
        landlock::restrict(block, list);
    }
    let step = block.step("closing descriptors");
    const CLOSE_LATER: u32 = 4;
    list.call(
        step,
        libc::SYS_close_range,
        [3.into(), u32::MAX.into(), CLOSE_LATER.into()],
    );
}

fn write_profile(block: &mut CommandBlock, list: &mut List, text: &str) {
    let step = block.step("a profile for login shells");
    let (file, length) = (
        block.path(&Path::new(PRIVATE).join(PROFILE)),
        text.len() as u64,
    );
    let (text, slot) = (block.text(text), block.slot());
    let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL).cast_unsigned() | CLOSE_ON_EXEC;
    // Whatever is wrong with the home, a command that needs no profile runs without one.
    list.try_call_for(
        step,
        libc::SYS_openat,
        [
            libc::AT_FDCWD.into(),
            file.into(),
            flags.into(),
            0o644.into(),
        ],
        slot,
    );
    list.try_call(
        step,
        libc::SYS_write,
        [slot.into(), text.into(), length.into()],
    );
    list.try_call(step, libc::SYS_close, [slot.into()]);
}

/// There are four filters; each is made once.
fn filter(sockets: Sockets, programs: &Programs) -> &'static [u8] {
    static MADE: [OnceLock<Vec<u8>>; 4] = [const { OnceLock::new() }; 4];
    let memory = if *programs == Programs::Any {
        MemoryFiles::Allowed
    } else {
        MemoryFiles::Refused
    };
    let at =
        usize::from(sockets == Sockets::None) * 2 + usize::from(memory == MemoryFiles::Refused);
    MADE[at].get_or_init(|| program(sockets, memory))
}
