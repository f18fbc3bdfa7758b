//! What the harness and its helper agree on: three flat blocks that the harness fills and the
//! helper executes. The first makes the namespaces and exists when the helper starts; the second
//! makes the container, and arrives when the harness has looked at the workspace; the third starts
//! the command, and may arrive much later.
//!
//! Each block is mapped at a fixed address, so every pointer in it is final before the helper
//! exists.

/// Where the helper maps the block it starts with.
pub(crate) const NAMESPACE_BASE: u64 = 0x10_0000_0000;
/// Where it maps the container's block.
pub(crate) const CONTAINER_BASE: u64 = 0x20_0000_0000;
/// Where it maps the command's block.
pub(crate) const COMMAND_BASE: u64 = 0x30_0000_0000;

/// The descriptors the helper starts with, after the three standard streams.
pub(crate) const BLOCK: i32 = 3;
/// One end of a socket pair. The first messages on it are cgroup files, the container, and the
/// command. After that, a number is a signal to pass on. When the harness closes it, the helper
/// ends everything.
pub(crate) const CONTROL: i32 = 4;
/// Where the helper writes [`HelperReport`]s.
pub(crate) const STATUS: i32 = 5;
/// What the two processes of the helper need of each other: the process that makes the network
/// namespace, and the end of a pipe.
pub(crate) const PEER: i32 = 6;
/// The first of those that are closed before the command starts.
pub(crate) const FIRST_FREE: i32 = 8;

/// A list of system calls that the helper makes.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct SyscallProgram {
    pub(crate) address: u64,
    pub(crate) count: u64,
}

/// The head of the block that the helper starts with.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct NamespaceHead {
    /// Length of the whole block.
    pub(crate) bytes: u64,
    /// [`ONE_PROCESS`], [`GUARDED`] or [`PID_NAMESPACE`].
    pub(crate) processes: u64,
    /// What the first process does.
    pub(crate) outer: SyscallProgram,
    /// What the second process does, which makes the container and watches the command.
    pub(crate) inner: SyscallProgram,
    /// What the first process does meanwhile.
    pub(crate) beside: SyscallProgram,
    /// The address and the number of words of the set of processors that all of them may use.
    pub(crate) processors: [u64; 2],
}

/// There is one process.
pub(crate) const ONE_PROCESS: u64 = 0;
/// There is a second; when it ends, the first kills what it left.
pub(crate) const GUARDED: u64 = 1;
/// There is a second, the init process of a PID namespace: its end kills everything in it.
pub(crate) const PID_NAMESPACE: u64 = 2;

/// The head of the container's block.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ContainerHead {
    /// Length of the whole block.
    pub(crate) bytes: u64,
    /// What makes it, executed by the process in the namespaces.
    pub(crate) make: SyscallProgram,
    /// Not zero if the kernel lets the helper signal only its own descendants.
    pub(crate) is_scoped: u64,
}

/// The head of the command's block.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct CommandHead {
    /// Length of the whole block.
    pub(crate) bytes: u64,
    /// What the command's process does before it becomes the command.
    pub(crate) command: SyscallProgram,
    pub(crate) program: u64,
    pub(crate) arguments: u64,
    pub(crate) environment: u64,
    /// The step number of executing the program.
    pub(crate) start_step: u64,
    /// What it may not do with names, if the helper supervises them.
    pub(crate) names: NameRules,
    /// How long the command may run, in nanoseconds. The helper watches the clock itself, so that
    /// it does not depend on the harness being scheduled.
    pub(crate) time_left: u64,
}

/// Texts in a block.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct TextList {
    /// Where pairs of an address and a length are.
    pub(crate) address: u64,
    pub(crate) count: u64,
}

/// Which names the helper refuses or asks about.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct NameRules {
    /// Not zero if calls that make names come to the helper.
    pub(crate) are_supervised: u64,
    /// Not zero if the command has a Landlock ruleset.
    pub(crate) is_ruled: u64,
    /// The places that the command may write and others see.
    pub(crate) roots: TextList,
    /// For each of them, the folder that names are relative to.
    pub(crate) bases: TextList,
    /// Absolute paths that do not change, nor anything below them.
    pub(crate) closed: TextList,
    /// Absolute paths that are not removed, renamed or replaced.
    pub(crate) pinned: TextList,
    /// Names that are closed at any depth of a place, with everything below them.
    pub(crate) trees: TextList,
    /// The same for names in folders of one name: `.vscode/settings.json`.
    pub(crate) pairs: TextList,
}

/// One system call, or one of the pseudo calls below.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Op {
    pub(crate) call: u32,
    /// What it is part of, for messages.
    pub(crate) step: u16,
    /// An error to ignore; [`ANY`] for all.
    pub(crate) tolerate: u16,
    /// The slot for the result, counted from one.
    pub(crate) save: u16,
    /// Bit n: argument n is the number of a slot, and its value is passed.
    pub(crate) from: u16,
    pub(crate) unused: u32,
    pub(crate) args: [u64; 6],
}

/// The step number of starting one of the helper's own processes.
pub(crate) const OWN_PROCESS: u32 = 1;

pub(crate) const ANY: u16 = u16::MAX;
pub(crate) const SLOTS: usize = 256;
/// The slot that the container leaves to the command: Landlock's ruleset.
pub(crate) const RULES: u16 = 1;
/// The slot that the helper leaves to the command: the socket by which its process passes on the
/// listener for its calls.
pub(crate) const LISTENER_SENDER: u16 = 5;
/// The slots that the namespaces leave to the container: the process that makes the network
/// namespace, and both ends of its pipe.
pub(crate) const NETWORK_MAKER: u16 = 2;
pub(crate) const NETWORK_WRITER: u16 = 3;
pub(crate) const NETWORK_READER: u16 = 4;
/// The first slot of the descriptors that are passed with a container, in this order.
pub(crate) const FIRST_PASSED: u16 = 16;
/// Steps of the namespaces are counted from zero, those of the container and of the command from
/// here.
pub(crate) const CONTAINER_STEPS: u16 = 500;
pub(crate) const COMMAND_STEPS: u16 = 1000;

/// Write the low half of the second argument to the address in the first.
pub(crate) const POKE: u32 = u32::MAX;
/// Fail with the error that the address in the first argument holds as a negative number.
pub(crate) const CHECK: u32 = u32::MAX - 1;

/// Load the number at the address in the first argument.
pub(crate) const LOAD: u32 = u32::MAX - 2;

/// A message with cgroup files to write to.
pub(crate) const CGROUPS: u8 = 1;
/// A message with a command: its three streams and its block.
pub(crate) const COMMAND: u8 = 2;
/// A message with a container: its block, and its descriptors. The command follows at once.
pub(crate) const CONTAINER: u8 = 3;
/// The same; the helper reports [`READY`] when it is done.
pub(crate) const CONTAINER_AHEAD: u8 = 4;
/// A question about a file that would be the configuration of a repository: its path, and the file.
/// The answer is [`ANSWER_ALLOWED`] with a copy of what was read, or [`ANSWER_REFUSED`].
pub(crate) const ASK_CONFIGURATION: u8 = 5;
/// A file that leads Git to another folder, before the command can write it: its path, and the
/// file. The same answers, without a copy.
pub(crate) const ASK_POINTER: u8 = 6;
/// The path of a folder that the command renames: something in it may be protected. The same
/// answers.
pub(crate) const ASK_FOLDER: u8 = 10;
/// The path of a name that the command was refused. There is no answer.
pub(crate) const TELL_REFUSED: u8 = 7;
pub(crate) const ANSWER_ALLOWED: u8 = 8;
pub(crate) const ANSWER_REFUSED: u8 = 9;
/// The most descriptors in one message; the kernel's limit.
pub(crate) const MOST_PASSED: usize = 253;

/// What the helper reports.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct HelperReport {
    pub(crate) kind: u32,
    pub(crate) first: u32,
    pub(crate) second: u32,
}

/// A step failed: its number and the error.
pub(crate) const FAILED: u32 = 1;
/// The command ended: its status as `wait` returns it.
pub(crate) const ENDED: u32 = 2;
/// The container is ready for a command.
pub(crate) const READY: u32 = 3;
/// The command reached its deadline.
pub(crate) const OVERDUE: u32 = 5;
/// No process of the command is left, and the helper is about to exit.
pub(crate) const GONE: u32 = 4;
