//! The payload of a chain: one frozen original, and a copy for each hook.

use super::decode::{FrozenBuilder, HeapBuilder};
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::{FrozenHeap, FrozenValue, Heap, Value};
use tool_harness::worker::protocol::PayloadUse;
use tool_harness::worker::spelling;
use tool_harness::worker::wire::{Build, Reader, WireError};

/// What the harness sent, frozen so that no hook can change what the next one sees.
pub(super) struct Payload<'w> {
    is_spelled: bool,
    entries: Vec<(&'w str, FrozenValue)>,
    frozen: FrozenValue,
}

impl<'w> Payload<'w> {
    pub(super) fn read(
        event: &str,
        reader: &mut Reader<'w>,
        heap: &FrozenHeap,
    ) -> Result<Self, WireError> {
        let build = &mut FrozenBuilder(heap);
        let entries = reader.entries(build)?;
        let is_spelled = spelling::applies_to(event);
        let frozen = whole(is_spelled, entries.clone(), build);
        Ok(Self {
            is_spelled,
            entries,
            frozen,
        })
    }

    /// The payload that a `when` sees.
    pub(super) fn frozen<'v>(&self) -> Value<'v> {
        self.frozen.to_value()
    }

    /// A copy that one hook may change. Its texts are those of the original, so that a long result
    /// costs nothing here.
    pub(super) fn copy<'v>(&self, heap: Heap<'v>) -> Value<'v> {
        let entries = self
            .entries
            .iter()
            .map(|(key, value)| (*key, copied(value.to_value(), heap)));
        whole(self.is_spelled, entries.collect(), &mut HeapBuilder(heap))
    }

    /// Whether a hook changed its copy. A value that cannot be compared was not there before.
    pub(super) fn use_of(&self, copy: Value<'_>) -> PayloadUse {
        match self.frozen.to_value().equals(copy) {
            Ok(true) => PayloadUse::Read,
            Ok(false) | Err(_) => PayloadUse::Changed,
        }
    }
}

/// The parts as one dict, with each part under all its spellings.
fn whole<B>(is_spelled: bool, mut entries: Vec<(&str, B::Out)>, build: &mut B) -> B::Out
where
    B: Build,
    B::Out: Copy,
{
    if is_spelled {
        let part = |entries: &[(&str, B::Out)], key: &str| {
            entries
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
        };
        for (name, of) in spelling::SPELLINGS {
            if let (None, Some(value)) = (part(&entries, name), part(&entries, of)) {
                entries.push((name, value));
            }
        }
        let tool = spelling::TOOL_PARTS
            .iter()
            .map(|(name, of)| Some((*name, part(&entries, of)?)))
            .collect::<Option<Vec<_>>>();
        if let (None, Some(tool)) = (part(&entries, spelling::TOOL), tool) {
            let tool = build.map(tool);
            entries.push((spelling::TOOL, tool));
        }
    }
    build.map(entries)
}

/// Copies dicts and lists; the harness bounds their depth.
fn copied<'v>(value: Value<'v>, heap: Heap<'v>) -> Value<'v> {
    if let Some(dict) = DictRef::from_value(value) {
        let entries = dict
            .iter()
            .filter_map(|(key, value)| Some((key.unpack_str()?, copied(value, heap))));
        HeapBuilder(heap).map(entries.collect())
    } else if let Some(list) = ListRef::from_value(value) {
        let items = list.iter().map(|item| copied(item, heap)).collect();
        HeapBuilder(heap).list(items)
    } else {
        value
    }
}
