//! The names a script starts with: Starlark's own, and the table of built-ins.

use super::bind::Signature;
use super::call::Call;
use crate::check::dialect::EXTENSIONS;
use allocative::Allocative;
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::{Arguments, Evaluator};
use starlark::typing::Ty;
use starlark::values::type_repr::StarlarkTypeRepr;
use starlark::values::{
    AllocFrozenValue, FrozenHeap, FrozenValue, Heap, NoSerialize, ProvidesStaticType,
    StarlarkPagablePanic, StarlarkValue, Value, ValueError, ValueLike, starlark_value,
};
use std::collections::BTreeMap;
use std::fmt;
use tool_harness::builtin::{Module, full_name};
use tool_harness::facts::ScriptKind;

/// All modules, in the order that numbers their calls.
pub type Table = &'static [&'static Module];

/// Starlark's own names. Building them is the dearest part of a worker's start, so it is done once.
pub(super) fn standard() -> Globals {
    Globals::extended_by(EXTENSIONS)
}

/// The globals of tools, or of hooks and their `when`.
pub(super) fn globals(standard: &Globals, table: Table, kind: ScriptKind) -> Globals {
    let mut builder = GlobalsBuilder::new();
    for (name, value) in standard.iter() {
        builder.set(
            name,
            Standard {
                owner: standard,
                value,
            },
        );
    }
    let mut spaces: BTreeMap<&'static str, Space<'_>> = BTreeMap::new();
    let mut plain: BTreeMap<&'static str, Call> = BTreeMap::new();
    let mut index = 0;
    for module in table {
        for builtin in module.calls {
            let call = Call {
                index,
                builtin,
                signature: Signature::new(full_name(module, builtin), builtin.params),
                kind,
            };
            index += 1;
            // A call without a name is what calling its module does.
            let (name, calls) = match (module.name, builtin.name) {
                ("", name) | (name, "") => (name, &mut plain),
                (space, name) => (name, &mut spaces.entry(space).or_default().calls),
            };
            // The same name may stand for one thing in tools and another in hooks.
            if call.is_offered() || !calls.contains_key(name) {
                calls.insert(name, call);
            }
        }
        if !module.name.is_empty() {
            spaces.entry(module.name).or_default().constants = module.constants;
        }
    }
    for (name, mut space) in spaces {
        space.name = name;
        space.callee = match plain.remove(name) {
            Some(call) => Callee::Own(Box::new(call)),
            None => standard.iter().find(|(known, _)| *known == name).map_or(
                Callee::Nothing,
                |(_, value)| {
                    Callee::Standard(Standard {
                        owner: standard,
                        value,
                    })
                },
            ),
        };
        builder.set(name, space);
    }
    for (name, call) in plain {
        builder.set(name, call);
    }
    builder.build()
}

/// A namespace on its way into the globals.
#[derive(Default)]
struct Space<'a> {
    name: &'static str,
    calls: BTreeMap<&'static str, Call>,
    constants: &'static [(&'static str, f64)],
    callee: Callee<'a>,
}

/// What calling a namespace itself does: `log("x")`, or Starlark's own `set([1])` and `hash("x")`.
#[derive(Default)]
enum Callee<'a> {
    #[default]
    Nothing,
    Own(Box<Call>),
    Standard(Standard<'a>),
}

/// One of Starlark's own values, kept alive by whatever it is put into.
struct Standard<'a> {
    owner: &'a Globals,
    value: FrozenValue,
}

impl StarlarkTypeRepr for Standard<'_> {
    type Canonical = <FrozenValue as StarlarkTypeRepr>::Canonical;

    fn starlark_type_repr() -> Ty {
        FrozenValue::starlark_type_repr()
    }
}

impl AllocFrozenValue for Standard<'_> {
    fn alloc_frozen_value(self, heap: &FrozenHeap) -> FrozenValue {
        heap.add_reference(self.owner.heap());
        self.value
    }
}

impl StarlarkTypeRepr for Space<'_> {
    type Canonical = Namespace;

    fn starlark_type_repr() -> Ty {
        Namespace::get_type_starlark_repr()
    }
}

impl AllocFrozenValue for Space<'_> {
    fn alloc_frozen_value(self, heap: &FrozenHeap) -> FrozenValue {
        let mut members: BTreeMap<&'static str, FrozenValue> = self
            .calls
            .into_iter()
            .map(|(name, call)| (name, heap.alloc(call)))
            .collect();
        members.extend(
            self.constants
                .iter()
                .map(|&(name, value)| (name, heap.alloc(value))),
        );
        let callee = match self.callee {
            Callee::Nothing => None,
            Callee::Own(call) => Some(heap.alloc(*call)),
            Callee::Standard(value) => Some(heap.alloc(value)),
        };
        heap.alloc_simple(Namespace {
            name: self.name,
            members,
            callee,
        })
    }
}

/// A module of built-ins as a Starlark value.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct Namespace {
    name: &'static str,
    #[allocative(skip)]
    members: BTreeMap<&'static str, FrozenValue>,
    #[allocative(skip)]
    callee: Option<FrozenValue>,
}

#[starlark_value(type = "module")]
impl<'v> StarlarkValue<'v> for Namespace {
    fn get_attr(&self, attribute: &str, _: Heap<'v>) -> Option<Value<'v>> {
        self.members.get(attribute).map(|member| member.to_value())
    }

    fn dir_attr(&self) -> Vec<String> {
        self.members.keys().map(|&name| name.to_owned()).collect()
    }

    fn invoke(
        &self,
        _: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        match self.callee {
            Some(callee) => ValueLike::invoke(callee.to_value(), args, eval),
            None => ValueError::unsupported(self, "call()"),
        }
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<module {}>", self.name)
    }
}
