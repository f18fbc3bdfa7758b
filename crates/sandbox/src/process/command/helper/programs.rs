//! The three blocks of a command: its namespaces, its container, and the command itself.

use super::block::{
    Block, CommandBlock, ContainerBlock, EncodedBlock, NamespaceBlock, Plain, Slot, SyscallList,
};
use super::filter::names::{self, Answers};
use super::filter::{MemoryFiles, Sockets, program};
use super::layout::{
    CommandHead, ContainerHead, FIRST_FREE, GUARDED, NameRules, NamespaceHead, ONE_PROCESS, PEER,
    PID_NAMESPACE,
};
use super::network::{RelayPorts, listen, reach_itself};
use super::network_namespace;
use super::processors;
use super::scheduling::{self, ChildScheduling};
use crate::file::{GIT_FOLDER, protected_everywhere, protected_pairs};
use crate::network::SANDBOX_HOSTNAME;
use crate::plan::{Limits, Plan, Programs};
use crate::process::command::files::identity::{Identity, UserChange};
use crate::process::command::files::landlock::{self, Rule};
use crate::process::command::files::mounts::{CLOSE_ON_EXEC, write_mounts};
use crate::process::command::files::view::View;
use crate::process::command::leftovers::scratch::PROFILE;
use crate::process::command::limits::rlimit::limit;
use crate::process::command::prepare::PRIVATE_HOME;
use crate::process::command::protect::{NameSupervision, Protection};
use crate::process::command::watch::START;
use crate::tier::Mechanism;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// What the block of a container depends on.
pub(crate) struct ContainerInputs<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) identity: Identity,
    /// Trees that are passed with it.
    pub(crate) trees: &'a [PathBuf],
    /// Landlock's version and rules; `None` to contain nothing.
    pub(crate) landlock: Option<(i32, Vec<Rule>)>,
}

/// What the block of a command depends on.
pub(crate) struct CommandSpec<'a> {
    pub(crate) program: &'a Path,
    pub(crate) name: &'a OsStr,
    pub(crate) args: &'a [OsString],
    pub(crate) folder: &'a Path,
    pub(crate) environment: Vec<String>,
    pub(crate) limits: &'a Limits,
    /// What limits its memory.
    pub(crate) memory: Mechanism,
    /// Other processes of the same user that the process limit counts.
    pub(crate) others: u64,
    /// Whether the container has a Landlock ruleset for it.
    pub(crate) is_ruled: bool,
    /// What it must not change, and whether the helper sees to that; `None` to contain nothing.
    pub(crate) names: Option<(&'a Protection, NameSupervision)>,
    /// The `.profile` to write into its private home, if each command gets a new one.
    pub(crate) profile: Option<String>,
    /// Its scheduling class, if that is a background class.
    pub(crate) class: Option<i32>,
    /// Its priority, if the helper has another.
    pub(crate) priority: Option<i32>,
    pub(crate) time_left: Duration,
}

pub(crate) const BECOMING: &str = "becoming an unprivileged user";

/// Those that the first process makes before it forks. Then it makes the network namespace.
const FIRST_NAMESPACES: i32 = libc::CLONE_NEWUSER | libc::CLONE_NEWPID;
/// Those that the second process makes meanwhile.
const SECOND_NAMESPACES: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;

/// The namespaces of a command, whatever it will see in them.
pub(crate) fn namespaces(identity: &Identity, ports: Option<&RelayPorts>) -> EncodedBlock {
    let mut block = NamespaceBlock::namespaces();
    let [mut outer, mut inner, mut network] = <[SyscallList; 3]>::default();
    unblock_signals(&mut block, &mut outer);
    scheduling::write_short_slices(&mut block, &mut outer, identity, ChildScheduling::Same);
    scheduling::write_short_slices(&mut block, &mut inner, identity, ChildScheduling::Normal);
    become_other_user(&mut block, &mut outer, identity);
    let step = block.step("namespaces");
    outer.begin(step);
    // Changing the user closed `/proc/self` to this process.
    outer.call(libc::SYS_prctl, &[&libc::PR_SET_DUMPABLE, &1]);
    outer.call(libc::SYS_unshare, &[&FIRST_NAMESPACES]);
    inner.begin(block.step("ending with the helper"));
    die_with_parent(&mut inner);
    // The kernel takes as long to make a network namespace as to make all the mounts, so another
    // process makes each.
    network_namespace::open_pipe(&mut block, &mut outer, &mut inner);
    network_namespace::unshare(&mut block, &mut network);
    match ports {
        Some(ports) => listen(&mut block, &mut network, ports),
        None => reach_itself(&mut block, &mut network),
    }
    network_namespace::notify_peer(&mut block, &mut network);
    inner.begin(step);
    inner.call(libc::SYS_unshare, &[&SECOND_NAMESPACES]);
    inner.begin(block.step("a host name of its own"));
    let name = block.text(SANDBOX_HOSTNAME);
    let length = SANDBOX_HOSTNAME.len() as u64;
    inner.call(libc::SYS_sethostname, &[&name, &length]);
    map_user(&mut block, &mut inner, identity);
    bound_capabilities(&mut block, &mut inner);
    finish_namespaces(block, PID_NAMESPACE, [outer, inner, network])
}

/// No namespaces.
pub(crate) fn no_namespaces(identity: &Identity) -> EncodedBlock {
    let mut block = NamespaceBlock::namespaces();
    let [mut outer, mut inner, beside] = <[SyscallList; 3]>::default();
    unblock_signals(&mut block, &mut outer);
    scheduling::write_short_slices(&mut block, &mut outer, identity, ChildScheduling::Same);
    scheduling::write_short_slices(&mut block, &mut inner, identity, ChildScheduling::Normal);
    outer.begin(block.step("closing descriptors"));
    outer.call(libc::SYS_close_range, &[&PEER, &u32::MAX]);
    // The second process is in the command's cgroups and runs as its user, so the kernel may kill
    // it for lack of memory, or other processes may. Then the first process inherits what it
    // leaves.
    become_subreaper(&mut block, &mut outer);
    finish_namespaces(block, GUARDED, [outer, inner, beside])
}

/// A user namespace, and nothing else.
pub(crate) fn user_namespace() -> EncodedBlock {
    let mut block = NamespaceBlock::namespaces();
    let [mut outer, inner, beside] = <[SyscallList; 3]>::default();
    unblock_signals(&mut block, &mut outer);
    outer.begin(block.step("a user namespace"));
    outer.call(libc::SYS_unshare, &[&libc::CLONE_NEWUSER]);
    finish_namespaces(block, ONE_PROCESS, [outer, inner, beside])
}

/// The helper starts with every signal blocked.
fn unblock_signals<Head: Plain>(block: &mut Block<Head>, list: &mut SyscallList) {
    list.begin(block.step("signals"));
    let nothing = block.words(&[0]);
    list.call(
        libc::SYS_rt_sigprocmask,
        &[&libc::SIG_SETMASK, &nothing, &0, &8],
    );
}

fn finish_namespaces(
    mut block: NamespaceBlock,
    processes: u64,
    lists: [SyscallList; 3],
) -> EncodedBlock {
    let [outer, inner, beside] = lists.map(|list| block.program(&list));
    let set = processors::allowed();
    let processors = [block.words(&set), set.len() as u64];
    block.finish(|bytes| NamespaceHead {
        bytes,
        processes,
        outer,
        inner,
        beside,
        processors,
    })
}

/// A container in [`namespaces`].
pub(crate) fn with_namespaces(inputs: &ContainerInputs<'_>, view: &View) -> EncodedBlock {
    let mut block = ContainerBlock::container(inputs.trees.len());
    let mut list = SyscallList::default();
    write_mounts(&mut block, &mut list, inputs.plan, view, inputs.trees);
    list.begin(block.step("closing descriptors"));
    list.call(libc::SYS_close_range, &[&FIRST_FREE, &u32::MAX]);
    if let Some((version, rules)) = &inputs.landlock {
        landlock::make(&mut block, &mut list, *version, rules);
    }
    // As late as possible; and the filter, which takes the kernel a while, before the network must
    // be complete.
    network_namespace::enter(&mut block, &mut list);
    give_up_capabilities(&mut block, &mut list);
    filter_system_calls(&mut block, &mut list, inputs, Sockets::Namespace);
    network_namespace::wait_until_complete(&mut block, &mut list);
    finish_container(block, &list, false)
}

/// A container without namespaces.
pub(crate) fn without_namespaces(inputs: &ContainerInputs<'_>) -> EncodedBlock {
    let mut block = ContainerBlock::container(0);
    let mut list = SyscallList::default();
    if let Some((version, rules)) = &inputs.landlock {
        // The rules first: the command's user may not be able to reach everything they name.
        landlock::make(&mut block, &mut list, *version, rules);
        become_other_user(&mut block, &mut list, &inputs.identity);
    }
    become_subreaper(&mut block, &mut list);
    filter_system_calls(&mut block, &mut list, inputs, Sockets::None);
    let is_scoped = inputs
        .landlock
        .as_ref()
        .is_some_and(|(version, _)| landlock::keep_signals(&mut block, &mut list, *version));
    finish_container(block, &list, is_scoped)
}

/// Makes this process inherit orphans, and closes it to other processes of its user.
fn become_subreaper<Head: Plain>(block: &mut Block<Head>, list: &mut SyscallList) {
    list.begin(block.step("keeping track of descendants"));
    list.call(libc::SYS_prctl, &[&libc::PR_SET_CHILD_SUBREAPER, &1]);
    list.call(libc::SYS_prctl, &[&libc::PR_SET_DUMPABLE]);
}

/// A container in which nothing is made.
pub(crate) fn nothing() -> EncodedBlock {
    finish_container(ContainerBlock::container(0), &SyscallList::default(), false)
}

fn finish_container(
    mut block: ContainerBlock,
    list: &SyscallList,
    is_scoped: bool,
) -> EncodedBlock {
    let make = block.program(list);
    block.finish(|bytes| ContainerHead {
        bytes,
        make,
        is_scoped: is_scoped.into(),
    })
}

/// What a process in the container does to become the command.
pub(crate) fn command(spec: &CommandSpec<'_>) -> EncodedBlock {
    let mut block = CommandBlock::command();
    let mut list = SyscallList::default();
    become_command(&mut block, &mut list, spec);
    let names = std::iter::once(spec.name)
        .chain(spec.args.iter().map(OsString::as_os_str))
        .map(OsStr::as_bytes);
    let start = CommandHead {
        bytes: 0,
        names: name_rules(&mut block, spec),
        command: block.program(&list),
        program: block.path(spec.program),
        arguments: block.texts(names),
        environment: block.texts(&spec.environment),
        start_step: block.step(START).into(),
        time_left: u64::try_from(spec.time_left.as_nanos()).unwrap_or(u64::MAX),
    };
    block.finish(|bytes| CommandHead { bytes, ..start })
}

fn become_other_user<Head: Plain>(
    block: &mut Block<Head>,
    list: &mut SyscallList,
    identity: &Identity,
) {
    if identity.change == UserChange::None {
        return;
    }
    list.begin(block.step(BECOMING));
    let (uid, gid) = (identity.uid, identity.gid);
    list.call(libc::SYS_setgroups, &[]);
    list.call(libc::SYS_setresgid, &[&gid, &gid, &gid]);
    list.call(libc::SYS_setresuid, &[&uid, &uid, &uid]);
}

fn map_user(block: &mut NamespaceBlock, list: &mut SyscallList, identity: &Identity) {
    list.begin(block.step("the user of the namespace"));
    let (uid, gid) = (identity.uid, identity.gid);
    for (file, text) in [
        (c"/proc/self/setgroups", "deny".to_owned()),
        (c"/proc/self/uid_map", format!("{uid} {uid} 1")),
        (c"/proc/self/gid_map", format!("{gid} {gid} 1")),
    ] {
        let slot = block.slot();
        let (path, length, text) = (block.literal(file), text.len() as u64, block.text(text));
        let flags = libc::O_WRONLY.cast_unsigned() | CLOSE_ON_EXEC;
        list.call(libc::SYS_openat, &[&libc::AT_FDCWD, &path, &flags])
            .save_in(slot);
        list.call(libc::SYS_write, &[&slot, &text, &length]);
        list.close(slot);
    }
}

fn die_with_parent(list: &mut SyscallList) {
    list.call(libc::SYS_prctl, &[&libc::PR_SET_PDEATHSIG, &libc::SIGKILL]);
}

/// No program that is started gets capabilities. The process itself keeps its own while it makes
/// the container.
fn bound_capabilities(block: &mut NamespaceBlock, list: &mut SyscallList) {
    list.begin(block.step("giving up capabilities"));
    for capability in 0..=last_capability() {
        // If their number is unknown, there is nothing to give up beyond the last one.
        list.call(libc::SYS_prctl, &[&libc::PR_CAPBSET_DROP, &capability])
            .may_fail_with(libc::EINVAL);
    }
    let clear = libc::PR_CAP_AMBIENT_CLEAR_ALL;
    list.call(libc::SYS_prctl, &[&libc::PR_CAP_AMBIENT, &clear]);
    // No user ID regains capabilities, permanently.
    const LOCKED: u32 = 0x3 | 0xc | 0xc0;
    list.call(libc::SYS_prctl, &[&libc::PR_SET_SECUREBITS, &LOCKED]);
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

fn give_up_capabilities(block: &mut ContainerBlock, list: &mut SyscallList) {
    list.begin(block.step("giving up capabilities"));
    const THIRD_VERSION: u64 = 0x2008_0522;
    let head = block.words(&[THIRD_VERSION]);
    let none = block.data(&[0; 24]);
    list.call(libc::SYS_capset, &[&head, &none]);
    list.call(libc::SYS_prctl, &[&libc::PR_SET_DUMPABLE]);
}

/// Applies to everything in the container: no new privileges, and the system call filter. The
/// Landlock ruleset exists already, and only the command is bound to it later: the process that
/// watches it stays outside.
fn filter_system_calls(
    block: &mut ContainerBlock,
    list: &mut SyscallList,
    inputs: &ContainerInputs<'_>,
    sockets: Sockets,
) {
    list.begin(block.step("no new privileges"));
    list.call(libc::SYS_prctl, &[&libc::PR_SET_NO_NEW_PRIVS, &1]);
    if inputs.landlock.is_none() {
        return;
    }
    list.begin(block.step("the system call filter"));
    let code = filter(sockets, &inputs.plan.programs);
    let count = code.len() as u64 / 8;
    let code = block.data(code);
    let program = block.words(&[count, code]);
    const SET_FILTER: u32 = 1;
    list.call(libc::SYS_seccomp, &[&SET_FILTER, &0, &program]);
}

fn become_command(block: &mut CommandBlock, list: &mut SyscallList, spec: &CommandSpec<'_>) {
    list.begin(block.step("a session of its own"));
    let nothing = block.words(&[0]);
    list.call(
        libc::SYS_rt_sigprocmask,
        &[&libc::SIG_SETMASK, &nothing, &0, &8],
    );
    list.call(libc::SYS_setsid, &[]);
    die_with_parent(list);
    list.call(libc::SYS_umask, &[&0o022]);
    if let Some(priority) = spec.priority {
        list.call(libc::SYS_setpriority, &[&libc::PRIO_PROCESS, &0, &priority])
            .may_fail();
    }
    if let Some(class) = spec.class {
        list.call(libc::SYS_sched_setscheduler, &[&0, &class, &nothing])
            .may_fail();
    }
    if let Some(profile) = &spec.profile {
        write_profile(block, list, profile);
    }
    list.begin(block.step("the folder to start in"));
    let folder = block.path(spec.folder);
    list.call(libc::SYS_chdir, &[&folder]);
    if spec.is_ruled {
        landlock::restrict(block, list);
    }
    // Before the limits: another command of this user may have as many descriptors in flight as
    // its own limit allows, and then no process with the same limit passes one on.
    if let Some((_, supervision)) = spec.names {
        supervise_names(block, list, supervision);
    }
    limit(block, list, spec.limits, spec.memory, spec.others);
    list.begin(block.step("closing descriptors"));
    const CLOSE_LATER: u32 = 4;
    list.call(libc::SYS_close_range, &[&3, &u32::MAX, &CLOSE_LATER]);
}

/// Hands calls that make names to the helper from here on.
fn supervise_names(block: &mut CommandBlock, list: &mut SyscallList, supervision: NameSupervision) {
    const SET_FILTER: u32 = 1;
    const NEW_LISTENER: u32 = 8;
    // A signal that only interrupts must not make the command repeat what was done already.
    const WAIT_UNLESS_KILLED: u32 = 32;
    static MADE: [OnceLock<Vec<u8>>; 2] = [const { OnceLock::new() }; 2];
    list.begin(block.step(SUPERVISING));
    let is_ours = supervision == NameSupervision::Helper;
    let (answers, flags) = if is_ours {
        (Answers::Helper, NEW_LISTENER | WAIT_UNLESS_KILLED)
    } else {
        (Answers::Kernel, 0)
    };
    let code = MADE[usize::from(is_ours)].get_or_init(|| names::program(answers));
    let (count, code) = (code.len() as u64 / 8, block.data(code));
    let program = block.words(&[count, code]);
    let listener = block.slot();
    list.call(libc::SYS_seccomp, &[&SET_FILTER, &flags, &program])
        .save_in(listener);
    if !is_ours {
        return;
    }
    let mut rights = Vec::from(20_u64.to_ne_bytes());
    rights.extend(libc::SOL_SOCKET.to_ne_bytes());
    rights.extend(libc::SCM_RIGHTS.to_ne_bytes());
    rights.resize(24, 0);
    let rights = block.data(&rights);
    list.poke(rights + 16, listener);
    let byte = block.data(&[1]);
    let part = block.words(&[byte, 1]);
    let message = block.words(&[0, 0, part, 1, rights, 24, 0]);
    list.call(
        libc::SYS_sendmsg,
        &[&Slot::LISTENER_SENDER, &message, &libc::MSG_NOSIGNAL],
    );
}

/// The step after which the helper makes the calls of the command.
pub(crate) const SUPERVISING: &str = "supervising names";

fn name_rules(block: &mut CommandBlock, spec: &CommandSpec<'_>) -> NameRules {
    let Some((protection, NameSupervision::Helper)) = spec.names else {
        return NameRules::default();
    };
    let bytes = |path: &PathBuf| path.as_os_str().as_bytes().to_vec();
    let roots = protection.roots.iter();
    let trees = protected_everywhere().filter(|name| *name != GIT_FOLDER);
    let pairs = protected_pairs().map(|(outer, inner)| format!("{outer}/{inner}"));
    NameRules {
        are_supervised: 1,
        is_ruled: spec.is_ruled.into(),
        roots: block.text_list(roots.clone().map(|root| bytes(&root.path))),
        bases: block.text_list(roots.map(|root| bytes(&root.base))),
        closed: block.text_list(protection.closed.iter().map(bytes)),
        pinned: block.text_list(protection.pinned.iter().map(bytes)),
        trees: block.text_list(trees),
        pairs: block.text_list(pairs),
    }
}

fn write_profile(block: &mut CommandBlock, list: &mut SyscallList, text: &str) {
    list.begin(block.step("a profile for login shells"));
    let file = block.path(&Path::new(PRIVATE_HOME).join(PROFILE));
    let (length, text, slot) = (text.len() as u64, block.text(text), block.slot());
    let flags = (libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL).cast_unsigned() | CLOSE_ON_EXEC;
    // If something is wrong with the home, a command that needs no profile still runs.
    list.call(libc::SYS_openat, &[&libc::AT_FDCWD, &file, &flags, &0o644])
        .may_fail()
        .save_in(slot);
    list.call(libc::SYS_write, &[&slot, &text, &length])
        .may_fail();
    list.close(slot);
}

/// There are four filters; each is built once.
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
