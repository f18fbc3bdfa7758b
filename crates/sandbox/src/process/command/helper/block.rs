//! Encoding the blocks that the helper executes. Everything is decided here, before the helper
//! exists.

use super::layout::{
    ANY, CHECK, COMMAND_BASE, COMMAND_STEPS, CONTAINER_BASE, CONTAINER_STEPS, CommandHead,
    ContainerHead, FIRST_PASSED, LOAD, NAMESPACE_BASE, NETWORK_MAKER, NETWORK_READER,
    NETWORK_WRITER, NamespaceHead, Op, POKE, RULES, SLOTS, SyscallProgram,
};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

/// A block being built.
pub(crate) struct Block<Head> {
    head: PhantomData<Head>,
    base: u64,
    first_step: u16,
    bytes: Vec<u8>,
    steps: Vec<&'static str>,
    slots: u16,
}

pub(crate) type NamespaceBlock = Block<NamespaceHead>;
pub(crate) type ContainerBlock = Block<ContainerHead>;
pub(crate) type CommandBlock = Block<CommandHead>;

/// A list of operations being built.
#[derive(Default)]
pub(crate) struct SyscallList {
    ops: Vec<Op>,
}

/// An argument of a system call.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
    /// A number, or an address in the block.
    Value(u64),
    /// The result of an earlier operation.
    Result(Slot),
}

/// Where the helper keeps a result.
#[derive(Clone, Copy)]
pub(crate) struct Slot(u16);

impl Slot {
    /// The one that the container leaves to the command.
    pub(crate) const RULES: Self = Self(RULES);
    /// Those that the namespaces leave to the container.
    pub(crate) const NETWORK_MAKER: Self = Self(NETWORK_MAKER);
    pub(crate) const NETWORK_WRITER: Self = Self(NETWORK_WRITER);
    pub(crate) const NETWORK_READER: Self = Self(NETWORK_READER);
}

impl From<u64> for Arg {
    fn from(value: u64) -> Self {
        Self::Value(value)
    }
}

impl From<i32> for Arg {
    fn from(value: i32) -> Self {
        Self::Value(i64::from(value).cast_unsigned())
    }
}

impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::Value(value.into())
    }
}

impl From<Slot> for Arg {
    fn from(slot: Slot) -> Self {
        Self::Result(slot)
    }
}

/// A type without padding that may be copied into the block byte by byte.
///
/// # Safety
///
/// Every byte of a value is initialised.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers, and structs of integers without padding.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for Op {}
// SAFETY: as above.
unsafe impl Plain for NamespaceHead {}
// SAFETY: as above.
unsafe impl Plain for ContainerHead {}
// SAFETY: as above.
unsafe impl Plain for CommandHead {}
// SAFETY: as above.
unsafe impl Plain for [u64; 2] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 3] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 4] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 7] {}

impl NamespaceBlock {
    /// A block that makes namespaces.
    pub(crate) fn namespaces() -> Self {
        // The helper itself uses the step numbers 0 to 2.
        Self::new(
            NAMESPACE_BASE,
            0,
            NETWORK_READER,
            vec![
                "the helper's memory",
                "a process of its own",
                "control groups",
            ],
        )
    }
}

impl ContainerBlock {
    /// A block that makes a container, with this many passed descriptors.
    pub(crate) fn container(passed: usize) -> Self {
        let last = FIRST_PASSED - 1 + u16::try_from(passed).unwrap_or(u16::MAX - FIRST_PASSED);
        assert!(usize::from(last) < SLOTS, "too many descriptors are passed");
        Self::new(CONTAINER_BASE, CONTAINER_STEPS, last, Vec::new())
    }

    /// The slot of a passed descriptor.
    pub(crate) fn passed(at: usize) -> Slot {
        Slot(FIRST_PASSED + u16::try_from(at).unwrap_or(0))
    }
}

impl CommandBlock {
    /// A block that starts a command.
    pub(crate) fn command() -> Self {
        Self::new(COMMAND_BASE, COMMAND_STEPS, RULES, Vec::new())
    }
}

impl<Head: Plain> Block<Head> {
    /// `slots` is the last one that is already taken.
    fn new(base: u64, first_step: u16, slots: u16, steps: Vec<&'static str>) -> Self {
        const {
            assert!(
                size_of::<Head>().is_multiple_of(8),
                "what follows the head is aligned"
            )
        };
        Self {
            head: PhantomData,
            base,
            first_step,
            bytes: vec![0; size_of::<Head>()],
            steps,
            slots,
        }
    }

    /// Names the step that the following operations belong to.
    pub(crate) fn step(&mut self, name: &'static str) -> u16 {
        self.steps.push(name);
        self.first_step + u16::try_from(self.steps.len() - 1).unwrap_or(CONTAINER_STEPS)
    }

    pub(crate) fn slot(&mut self) -> Slot {
        self.slots += 1;
        assert!(
            usize::from(self.slots) < SLOTS,
            "too many results are saved"
        );
        Slot(self.slots)
    }

    /// Adds bytes to the block and returns their address.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let address = self.base + self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        address
    }

    pub(crate) fn value<T: Plain>(&mut self, value: &T) -> u64 {
        self.data(bytes_of(value))
    }

    /// A null-terminated string. A null inside would cut it short, so callers check their texts
    /// first.
    pub(crate) fn text(&mut self, text: impl AsRef<[u8]>) -> u64 {
        let address = self.data(text.as_ref());
        self.bytes.push(0);
        address
    }

    pub(crate) fn path(&mut self, path: &Path) -> u64 {
        self.text(path.as_os_str().as_bytes())
    }

    pub(crate) fn literal(&mut self, text: &CStr) -> u64 {
        self.data(text.to_bytes_with_nul())
    }

    /// A list of strings for `execve`.
    pub(crate) fn texts<T: AsRef<[u8]>>(&mut self, texts: impl IntoIterator<Item = T>) -> u64 {
        let mut addresses: Vec<u64> = texts.into_iter().map(|text| self.text(text)).collect();
        addresses.push(0);
        let bytes: Vec<u8> = addresses
            .iter()
            .flat_map(|address| address.to_ne_bytes())
            .collect();
        self.data(&bytes)
    }

    /// Adds a list of operations to the block.
    pub(crate) fn program(&mut self, list: &SyscallList) -> SyscallProgram {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let program = SyscallProgram {
            address: self.base + self.bytes.len() as u64,
            count: list.ops.len() as u64,
        };
        for op in &list.ops {
            self.value(op);
        }
        program
    }

    /// The finished block. `fill` makes the head last, from the length of the whole.
    pub(crate) fn finish(mut self, fill: impl FnOnce(u64) -> Head) -> EncodedBlock {
        let head = fill(self.bytes.len() as u64);
        self.bytes[..size_of::<Head>()].copy_from_slice(bytes_of(&head));
        EncodedBlock {
            bytes: self.bytes,
            steps: self.steps,
        }
    }
}

fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: a `Plain` value has only initialised bytes, and lives as long as the slice.
    unsafe { slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// A finished block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncodedBlock {
    pub(crate) bytes: Vec<u8>,
    /// The names of its steps.
    pub(crate) steps: Vec<&'static str>,
}

impl SyscallList {
    /// Adds a system call; if it fails, the step fails.
    pub(crate) fn call<const N: usize>(
        &mut self,
        step: u16,
        call: libc::c_long,
        args: [Arg; N],
    ) -> &mut Op {
        self.push(step, u32::try_from(call).unwrap_or(0), args)
    }

    /// Writes a result into the block.
    pub(crate) fn poke(&mut self, step: u16, address: u64, slot: Slot) {
        self.push(step, POKE, [address.into(), slot.into()]);
    }

    /// Fails if the number at an address is a (negative) error.
    pub(crate) fn check(&mut self, step: u16, address: u64, tolerate: i32) {
        self.push(step, CHECK, [address.into()])
            .may_fail_with(tolerate);
    }

    /// Saves the number at an address.
    pub(crate) fn load(&mut self, step: u16, address: u64, slot: Slot) {
        self.push(step, LOAD, [address.into()]).save_in(slot);
    }

    fn push<const N: usize>(&mut self, step: u16, call: u32, args: [Arg; N]) -> &mut Op {
        let mut op = Op {
            call,
            step,
            ..Op::default()
        };
        for (at, arg) in args.into_iter().enumerate() {
            match arg {
                Arg::Value(value) => op.args[at] = value,
                Arg::Result(slot) => {
                    op.args[at] = slot.0.into();
                    op.from |= 1 << at;
                }
            }
        }
        let at = self.ops.len();
        self.ops.push(op);
        &mut self.ops[at]
    }
}

impl Op {
    /// Any failure is ignored.
    pub(crate) fn may_fail(&mut self) -> &mut Self {
        self.tolerate = ANY;
        self
    }

    /// One particular error is ignored.
    pub(crate) fn may_fail_with(&mut self, error: i32) -> &mut Self {
        self.tolerate = u16::try_from(error).unwrap_or(0);
        self
    }

    /// The result is saved.
    pub(crate) fn save_in(&mut self, slot: Slot) -> &mut Self {
        self.save = slot.0;
        self
    }
}
