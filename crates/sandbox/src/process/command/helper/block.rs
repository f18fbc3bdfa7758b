//! Filling the blocks that the helper follows. Everything is decided and laid out here, before the helper exists.

use super::layout::{
    ANY, CHECK, COMMAND_BASE, COMMAND_STEPS, GIVEN, GROUND_BASE, Ground, HEARD, LOAD, MAKER, Op,
    PLACE_BASE, PLACE_STEPS, POKE, Place, RULES, SLOTS, Script, Start, TOLD,
};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::slice;

/// A block in the making.
pub(crate) struct Block<Head> {
    head: PhantomData<Head>,
    base: u64,
    first_step: u16,
    bytes: Vec<u8>,
    steps: Vec<&'static str>,
    slots: u16,
}

pub(crate) type GroundBlock = Block<Ground>;
pub(crate) type PlaceBlock = Block<Place>;
pub(crate) type CommandBlock = Block<Start>;

/// A list of operations in the making.
#[derive(Default)]
pub(crate) struct List {
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

/// Where a result is kept.
#[derive(Clone, Copy)]
pub(crate) struct Slot(u16);

impl Slot {
    /// The one that the place leaves to the command.
    pub(crate) const RULES: Self = Self(RULES);
    /// Those that the ground leaves to the place.
    pub(crate) const MAKER: Self = Self(MAKER);
    pub(crate) const TOLD: Self = Self(TOLD);
    pub(crate) const HEARD: Self = Self(HEARD);
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
/// Every byte of a value is initialised.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: integers, and structs of integers without padding.
unsafe impl Plain for u64 {}
// SAFETY: as above.
unsafe impl Plain for Op {}
// SAFETY: as above.
unsafe impl Plain for Ground {}
// SAFETY: as above.
unsafe impl Plain for Place {}
// SAFETY: as above.
unsafe impl Plain for Start {}
// SAFETY: as above.
unsafe impl Plain for [u64; 2] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 3] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 4] {}
// SAFETY: as above.
unsafe impl Plain for [u64; 7] {}

impl GroundBlock {
    /// What makes namespaces.
    pub(crate) fn ground() -> Self {
        // The numbers 0 to 2 are the helper's own.
        Self::new(
            GROUND_BASE,
            0,
            HEARD,
            vec![
                "the helper's memory",
                "a process of its own",
                "control groups",
            ],
        )
    }
}

impl PlaceBlock {
    /// What makes a place, out of so many descriptors that are passed with it.
    pub(crate) fn place(given: usize) -> Self {
        let last = GIVEN - 1 + u16::try_from(given).unwrap_or(u16::MAX - GIVEN);
        assert!(
            usize::from(last) < SLOTS,
            "more is passed than there is room for"
        );
        Self::new(PLACE_BASE, PLACE_STEPS, last, Vec::new())
    }

    /// What was passed with the place.
    pub(crate) fn given(at: usize) -> Slot {
        Slot(GIVEN + u16::try_from(at).unwrap_or(0))
    }
}

impl CommandBlock {
    /// What starts a command there.
    pub(crate) fn command() -> Self {
        Self::new(COMMAND_BASE, COMMAND_STEPS, RULES, Vec::new())
    }
}

impl<Head: Plain> Block<Head> {
    /// `slots` is the last one that is taken already.
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

    /// Names what the following operations are for.
    pub(crate) fn step(&mut self, name: &'static str) -> u16 {
        self.steps.push(name);
        self.first_step + u16::try_from(self.steps.len() - 1).unwrap_or(PLACE_STEPS)
    }

    pub(crate) fn slot(&mut self) -> Slot {
        self.slots += 1;
        assert!(
            usize::from(self.slots) < SLOTS,
            "more results are kept than there is room for"
        );
        Slot(self.slots)
    }

    /// Puts bytes into the block and gives their address.
    pub(crate) fn data(&mut self, bytes: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let address = self.base + self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        address
    }

    pub(crate) fn value<T: Plain>(&mut self, value: &T) -> u64 {
        self.data(bytes_of(value))
    }

    /// A string that ends with null. A null inside ends it early, so callers check their texts first.
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

    /// A list of strings as `execve` takes it.
    pub(crate) fn texts<T: AsRef<[u8]>>(&mut self, texts: impl IntoIterator<Item = T>) -> u64 {
        let mut addresses: Vec<u64> = texts.into_iter().map(|text| self.text(text)).collect();
        addresses.push(0);
        let bytes: Vec<u8> = addresses
            .iter()
            .flat_map(|address| address.to_ne_bytes())
            .collect();
        self.data(&bytes)
    }

    /// Writes a list of operations into the block.
    pub(crate) fn script(&mut self, list: &List) -> Script {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let script = Script {
            address: self.base + self.bytes.len() as u64,
            count: list.ops.len() as u64,
        };
        for op in &list.ops {
            self.value(op);
        }
        script
    }

    /// The finished bytes, and the names of the steps. The head is filled last, when the size of the whole is known.
    pub(crate) fn finish(mut self, fill: impl FnOnce(u64) -> Head) -> Filled {
        let head = fill(self.bytes.len() as u64);
        self.bytes[..size_of::<Head>()].copy_from_slice(bytes_of(&head));
        Filled {
            bytes: self.bytes,
            steps: self.steps,
        }
    }
}

fn bytes_of<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: a `Plain` value has only initialised bytes, and lives as long as the slice.
    unsafe { slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// A block that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    pub(crate) bytes: Vec<u8>,
    /// What its steps are called.
    pub(crate) steps: Vec<&'static str>,
}

impl List {
    /// Adds a system call whose failure is the failure of the step.
    pub(crate) fn call<const N: usize>(
        &mut self,
        step: u16,
        call: libc::c_long,
        args: [Arg; N],
    ) -> &mut Op {
        self.push(step, u32::try_from(call).unwrap_or(0), args)
    }

    /// Adds a system call that may fail with one error.
    pub(crate) fn call_unless<const N: usize>(
        &mut self,
        step: u16,
        call: libc::c_long,
        args: [Arg; N],
        tolerate: i32,
    ) {
        self.call(step, call, args).tolerate = u16::try_from(tolerate).unwrap_or(0);
    }

    /// Adds a system call that may fail.
    pub(crate) fn try_call<const N: usize>(
        &mut self,
        step: u16,
        call: libc::c_long,
        args: [Arg; N],
    ) {
        self.call(step, call, args).tolerate = ANY;
    }

    /// Adds a system call and keeps its result.
    pub(crate) fn call_for<const N: usize>(
        &mut self,
        step: u16,
        call: libc::c_long,
        args: [Arg; N],
        slot: Slot,
    ) {
        self.call(step, call, args).save = slot.0;
    }

    /// Adds a system call that may fail, and keeps its result.
    pub(crate) fn try_call_for<const N: usize>(
        &mut self,
        step: u16,
        call: libc::c_long,
        args: [Arg; N],
        slot: Slot,
    ) {
        let op = self.call(step, call, args);
        (op.tolerate, op.save) = (ANY, slot.0);
    }

    /// Puts a result into the block.
    pub(crate) fn poke(&mut self, step: u16, address: u64, slot: Slot) {
        self.push(step, POKE, [address.into(), slot.into()]);
    }

    /// Fails when the number at an address says so.
    pub(crate) fn check(&mut self, step: u16, address: u64, tolerate: i32) {
        self.push(step, CHECK, [address.into()]).tolerate = u16::try_from(tolerate).unwrap_or(0);
    }

    /// Keeps the number at an address.
    pub(crate) fn load(&mut self, step: u16, address: u64, slot: Slot) {
        self.push(step, LOAD, [address.into()]).save = slot.0;
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
