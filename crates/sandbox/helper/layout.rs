//! What the harness and its helper agree on: three flat blocks that the harness fills and the helper follows. The first makes the namespaces
//! and is there when the helper starts; the second makes the place a command runs in, and comes when the harness has looked what that is; the
//! third is the command, and may come much later.
//!
//! Each block is mapped at one fixed address, so every pointer in it is final before the helper exists.

/// Where the helper maps the block it starts with.
pub(crate) const NAMESPACE_BASE: u64 = 0x10_0000_0000;
/// Where it maps the block of the place.
pub(crate) const CONTAINER_BASE: u64 = 0x20_0000_0000;
/// Where it maps the block of the command.
pub(crate) const COMMAND_BASE: u64 = 0x30_0000_0000;

/// The descriptors the helper starts with, after the three standard streams.
pub(crate) const BLOCK: i32 = 3;
/// One end of a socket pair. The first messages on it are the doors of control groups, the place, and the command. After that, a number is a
/// signal to pass on. Closed by the harness it means the end.
pub(crate) const CONTROL: i32 = 4;
/// Where [`HelperReport`]s are written.
pub(crate) const STATUS: i32 = 5;
/// What two processes of the helper need of each other: the process that makes the network namespace, and the end of a pipe.
pub(crate) const PEER: i32 = 6;
/// The first of those that are closed before the command starts.
pub(crate) const FIRST_FREE: i32 = 8;

/// A list of operations.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct SyscallProgram {
    pub(crate) address: u64,
    pub(crate) count: u64,
}

/// The start of the block that the helper starts with.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct NamespaceHead {
    /// Of the whole block.
    pub(crate) bytes: u64,
    /// [`ONE_PROCESS`], [`GUARDED`] or [`PID_NAMESPACE`].
    pub(crate) processes: u64,
    /// What the first process does.
    pub(crate) outer: SyscallProgram,
    /// What the second does, which makes the place and watches over the command.
    pub(crate) inner: SyscallProgram,
    /// What the first process does meanwhile.
    pub(crate) beside: SyscallProgram,
    /// Where the set of processors is that all of them may use, and how many words it has.
    pub(crate) processors: [u64; 2],
}

/// There is one process.
pub(crate) const ONE_PROCESS: u64 = 0;
/// There is a second; whatever is left when that ends is ended by the first.
pub(crate) const GUARDED: u64 = 1;
/// There is a second, the first of a process namespace, whose end ends everything in it.
pub(crate) const PID_NAMESPACE: u64 = 2;

/// The start of the block of a place.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ContainerHead {
    /// Of the whole block.
    pub(crate) bytes: u64,
    /// How it is made, by the process in the namespaces.
    pub(crate) make: SyscallProgram,
    /// Not zero when the kernel lets whoever made it signal only what comes from it.
    pub(crate) is_scoped: u64,
}

/// The start of the block of a command.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct CommandHead {
    /// Of the whole block.
    pub(crate) bytes: u64,
    /// What the command's process does before it becomes the command.
    pub(crate) command: SyscallProgram,
    pub(crate) program: u64,
    pub(crate) arguments: u64,
    pub(crate) environment: u64,
    /// The number of the step that is starting the program.
    pub(crate) start_step: u64,
    /// How long the command may run, in nanoseconds. Whoever ends it looks at the clock itself: nobody has to have a turn first to tell.
    pub(crate) time_left: u64,
}

/// One system call, or one of the pseudo calls below.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Op {
    pub(crate) call: u32,
    /// What it is part of, for messages.
    pub(crate) step: u16,
    /// An error that is no error here; [`ANY`] for all.
    pub(crate) tolerate: u16,
    /// The slot that keeps the result, counted from one.
    pub(crate) save: u16,
    /// Bit n: argument n is the number of a slot and stands for what the slot holds.
    pub(crate) from: u16,
    pub(crate) unused: u32,
    pub(crate) args: [u64; 6],
}

/// The number of the step that is starting a process of the helper's.
pub(crate) const OWN_PROCESS: u32 = 1;

pub(crate) const ANY: u16 = u16::MAX;
pub(crate) const SLOTS: usize = 256;
/// The slot that the place leaves to the command: Landlock's rules.
pub(crate) const RULES: u16 = 1;
/// The slots that the ground leaves to the place: the process that makes the network namespace, and both ends of its pipe.
pub(crate) const NETWORK_MAKER: u16 = 2;
pub(crate) const NETWORK_WRITER: u16 = 3;
pub(crate) const NETWORK_READER: u16 = 4;
/// The slots of what is passed with a place, in this order, start here.
pub(crate) const FIRST_PASSED: u16 = 16;
/// Steps of the ground are counted from zero, those of the place and of the command from here.
pub(crate) const CONTAINER_STEPS: u16 = 500;
pub(crate) const COMMAND_STEPS: u16 = 1000;

/// Write the low half of the second argument to the address in the first.
pub(crate) const POKE: u32 = u32::MAX;
/// Fail with the error that the address in the first argument holds as a negative number.
pub(crate) const CHECK: u32 = u32::MAX - 1;

/// Take the number at the address in the first argument.
pub(crate) const LOAD: u32 = u32::MAX - 2;

/// A message with the doors of control groups to enter.
pub(crate) const CGROUPS: u8 = 1;
/// A message with a command: its three streams and its block.
pub(crate) const COMMAND: u8 = 2;
/// A message with a place: its block, and what it is made of. The command is on its way.
pub(crate) const CONTAINER: u8 = 3;
/// The same, when somebody waits until it is made.
pub(crate) const CONTAINER_AHEAD: u8 = 4;
/// The most descriptors in one message, which is the kernel's bound.
pub(crate) const MOST_PASSED: usize = 253;

/// What the helper says.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct HelperReport {
    pub(crate) kind: u32,
    pub(crate) first: u32,
    pub(crate) second: u32,
}

/// A step failed: its number and the error.
pub(crate) const FAILED: u32 = 1;
/// The command ended: its status as `wait` gives it.
pub(crate) const ENDED: u32 = 2;
/// The place is ready for a command; said where somebody waits for that.
pub(crate) const READY: u32 = 3;
/// The command's time was over.
pub(crate) const OVERDUE: u32 = 5;
/// Nothing of the command is left, and the helper is about to end.
pub(crate) const GONE: u32 = 4;
