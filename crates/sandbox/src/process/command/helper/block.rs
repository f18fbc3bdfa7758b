//! Encoding the blocks that the helper executes. Everything is decided here, before the helper
//! exists.

use super::layout::{
    ANY, CHECK, COMMAND_BASE, COMMAND_STEPS, CONTAINER_BASE, CONTAINER_STEPS, CommandHead,
    ContainerHead, FIRST_PASSED, LISTENER_SENDER, LOAD, NAMESPACE_BASE, NETWORK_MAKER,
    NETWORK_READER, NETWORK_WRITER, NamespaceHead, Op, POKE, RULES, SLOTS, SyscallProgram,
    TextList,
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
    /// The step that the next operations belong to.
    step: u16,
}

/// An argument of a system call.
pub(crate) enum Arg {
    /// A number, or an address in the block.
    Value(u64),
    /// The result of an earlier operation.
    Result(Slot),
}

/// What can be passed to a system call.
pub(crate) trait ToArg {
    fn to_arg(&self) -> Arg;
}

pub(crate) type Args<'a> = &'a [&'a dyn ToArg];

/// Where the helper keeps a result.
#[derive(Clone, Copy)]
pub(crate) struct Slot(u16);

impl Slot {
    /// The one that the container leaves to the command.
    pub(crate) const RULES: Self = Self(RULES);
    /// The one that the helper leaves to the command.
    pub(crate) const LISTENER_SENDER: Self = Self(LISTENER_SENDER);
    /// Those that the namespaces leave to the container.
    pub(crate) const NETWORK_MAKER: Self = Self(NETWORK_MAKER);
    pub(crate) const NETWORK_WRITER: Self = Self(NETWORK_WRITER);
    pub(crate) const NETWORK_READER: Self = Self(NETWORK_READER);
}

impl ToArg for u64 {
    fn to_arg(&self) -> Arg {
        Arg::Value(*self)
    }
}

impl ToArg for i32 {
    fn to_arg(&self) -> Arg {
        Arg::Value(i64::from(*self).cast_unsigned())
    }
}

impl ToArg for u32 {
    fn to_arg(&self) -> Arg {
        Arg::Value((*self).into())
    }
}

impl ToArg for Slot {
    fn to_arg(&self) -> Arg {
        Arg::Result(*self)
    }
}

/// A type without padding that may be copied into the block byte by byte.
///
/// # Safety
///
/// Every byte of a value is initialised.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: a struct of integers without padding.
unsafe impl Plain for Op {}
// SAFETY: as above.
unsafe impl Plain for NamespaceHead {}
// SAFETY: as above.
unsafe impl Plain for ContainerHead {}
// SAFETY: as above.
unsafe impl Plain for CommandHead {}

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
        Self::new(COMMAND_BASE, COMMAND_STEPS, LISTENER_SENDER, Vec::new())
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

    pub(crate) fn words(&mut self, words: &[u64]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.data(&bytes)
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
        self.words(&addresses)
    }

    /// A list of texts with their lengths.
    pub(crate) fn text_list<T: AsRef<[u8]>>(
        &mut self,
        texts: impl IntoIterator<Item = T>,
    ) -> TextList {
        let mut pairs = Vec::new();
        for text in texts {
            let text = text.as_ref();
            pairs.extend([self.text(text), text.len() as u64]);
        }
        TextList {
            address: self.words(&pairs),
            count: pairs.len() as u64 / 2,
        }
    }

    /// Adds a list of operations to the block.
    pub(crate) fn program(&mut self, list: &SyscallList) -> SyscallProgram {
        let bytes: Vec<u8> = list.ops.iter().flat_map(bytes_of).copied().collect();
        SyscallProgram {
            address: self.data(&bytes),
            count: list.ops.len() as u64,
        }
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EncodedBlock {
    pub(crate) bytes: Vec<u8>,
    /// The names of its steps.
    pub(crate) steps: Vec<&'static str>,
}

impl SyscallList {
    /// Begins a step of the block: if one of the next operations fails, this step fails.
    pub(crate) fn begin(&mut self, step: u16) {
        self.step = step;
    }

    /// Adds a system call.
    pub(crate) fn call(&mut self, call: libc::c_long, args: Args<'_>) -> &mut Op {
        self.push(u32::try_from(call).unwrap_or(0), args)
    }

    /// Closes a descriptor that may not be open.
    pub(crate) fn close(&mut self, slot: Slot) {
        self.call(libc::SYS_close, &[&slot]).may_fail();
    }

    /// Writes a result into the block.
    pub(crate) fn poke(&mut self, address: u64, slot: Slot) {
        self.push(POKE, &[&address, &slot]);
    }

    /// Fails if the number at an address is a (negative) error.
    pub(crate) fn check(&mut self, address: u64, tolerate: i32) {
        self.push(CHECK, &[&address]).may_fail_with(tolerate);
    }

    /// Saves the number at an address.
    pub(crate) fn load(&mut self, address: u64, slot: Slot) {
        self.push(LOAD, &[&address]).save_in(slot);
    }

    fn push(&mut self, call: u32, args: Args<'_>) -> &mut Op {
        let mut op = Op {
            call,
            step: self.step,
            ..Op::default()
        };
        for (at, arg) in args.iter().enumerate() {
            match arg.to_arg() {
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
