//! What the harness and its helper agree on: a flat block that the harness fills and the helper follows.
//!
//! The block is mapped at one fixed address, so every pointer in it is final before the helper exists.

/// Where the helper maps the block.
pub(crate) const BASE: u64 = 0x10_0000_0000;

/// The descriptors the helper starts with, after the three standard streams.
pub(crate) const BLOCK: i32 = 3;
/// One end of a socket pair: closed by the harness it means the end, a number on it is a signal to pass on.
pub(crate) const CONTROL: i32 = 4;
/// Where [`Word`]s are written.
pub(crate) const STATUS: i32 = 5;
/// The first of those that only some calls need.
pub(crate) const FURTHER: i32 = 6;

/// A list of operations.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Script {
    pub(crate) address: u64,
    pub(crate) count: u64,
}

/// The start of the block.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Head {
    /// Of the whole block.
    pub(crate) bytes: u64,
    /// What the first process does.
    pub(crate) outer: Script,
    /// What the first process of the process namespace does; without one it is left out.
    pub(crate) inner: Script,
    /// What the command's process does before it becomes the command.
    pub(crate) command: Script,
    pub(crate) program: u64,
    pub(crate) arguments: u64,
    pub(crate) environment: u64,
    /// The number of the step that is starting the program.
    pub(crate) start_step: u64,
    /// Whether there is a process namespace: its end ends everything in it.
    pub(crate) has_namespace: u64,
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

pub(crate) const ANY: u16 = u16::MAX;
pub(crate) const SLOTS: usize = 256;

/// Write the low half of the second argument to the address in the first.
pub(crate) const POKE: u32 = u32::MAX;
/// Fail with the error that the address in the first argument holds as a negative number.
pub(crate) const CHECK: u32 = u32::MAX - 1;

/// What the helper says.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Word {
    pub(crate) kind: u32,
    pub(crate) first: u32,
    pub(crate) second: u32,
}

/// A step failed: its number and the error.
pub(crate) const FAILED: u32 = 1;
/// The command ended: its status as `wait` gives it.
pub(crate) const ENDED: u32 = 2;
/// All is ready and the command is about to be started.
pub(crate) const READY: u32 = 3;
