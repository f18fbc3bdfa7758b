//! The globals of a script: Starlark's own, and the built-ins.

use super::bind::Signature;
use super::builtin::BuiltinValue;
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

/// All modules of built-ins. Their order numbers the calls.
pub type BuiltinTable = &'static [&'static Module];

/// Starlark's own globals. Building them is the most expensive part of a worker's start, so it
/// happens once.
pub(super) fn standard() -> Globals {
    Globals::extended_by(EXTENSIONS)
}

/// The globals of tools, or of hooks and their `when`.
pub(super) fn globals(standard: &Globals, table: BuiltinTable, kind: ScriptKind) -> Globals {
    let mut builder = GlobalsBuilder::new();
    for (name, value) in standard.iter() {
        builder.set(
            name,
            StandardValue {
                owner: standard,
                value,
            },
        );
    }
    let mut namespaces: BTreeMap<&'static str, NamespaceBuilder<'_>> = BTreeMap::new();
    let mut plain: BTreeMap<&'static str, BuiltinValue> = BTreeMap::new();
    let mut index = 0;
    for module in table {
        for builtin in module.calls {
            let call = BuiltinValue {
                index,
                builtin,
                signature: Signature::new(full_name(module, builtin), builtin.params),
                kind,
            };
            index += 1;
            // A built-in without a name is called by its module's name.
            let (name, calls) = match (module.name, builtin.name) {
                ("", name) | (name, "") => (name, &mut plain),
                (namespace, name) => (name, &mut namespaces.entry(namespace).or_default().calls),
            };
            // One name may stand for different built-ins in tools and in hooks.
            if call.is_offered() || !calls.contains_key(name) {
                calls.insert(name, call);
            }
        }
        if !module.name.is_empty() {
            namespaces.entry(module.name).or_default().constants = module.constants;
        }
    }
    for (name, mut namespace) in namespaces {
        namespace.name = name;
        namespace.callee = match plain.remove(name) {
            Some(call) => Callee::Builtin(Box::new(call)),
            None => standard.iter().find(|(known, _)| *known == name).map_or(
                Callee::None,
                |(_, value)| {
                    Callee::Standard(StandardValue {
                        owner: standard,
                        value,
                    })
                },
            ),
        };
        builder.set(name, namespace);
    }
    for (name, call) in plain {
        builder.set(name, call);
    }
    builder.build()
}

/// Collects a namespace before it is allocated.
#[derive(Default)]
struct NamespaceBuilder<'a> {
    name: &'static str,
    calls: BTreeMap<&'static str, BuiltinValue>,
    constants: &'static [(&'static str, f64)],
    callee: Callee<'a>,
}

/// What a call of the namespace itself runs: a built-in, as for `log("x")`, or Starlark's own
/// function, as for `hash("x")`.
#[derive(Default)]
enum Callee<'a> {
    #[default]
    None,
    Builtin(Box<BuiltinValue>),
    Standard(StandardValue<'a>),
}

/// One of Starlark's own values. The heap it is added to keeps its owner alive.
struct StandardValue<'a> {
    owner: &'a Globals,
    value: FrozenValue,
}

impl StarlarkTypeRepr for StandardValue<'_> {
    type Canonical = <FrozenValue as StarlarkTypeRepr>::Canonical;

    fn starlark_type_repr() -> Ty {
        FrozenValue::starlark_type_repr()
    }
}

impl AllocFrozenValue for StandardValue<'_> {
    fn alloc_frozen_value(self, heap: &FrozenHeap) -> FrozenValue {
        heap.add_reference(self.owner.heap());
        self.value
    }
}

impl StarlarkTypeRepr for NamespaceBuilder<'_> {
    type Canonical = NamespaceValue;

    fn starlark_type_repr() -> Ty {
        NamespaceValue::get_type_starlark_repr()
    }
}

impl AllocFrozenValue for NamespaceBuilder<'_> {
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
            Callee::None => None,
            Callee::Builtin(call) => Some(heap.alloc(*call)),
            Callee::Standard(value) => Some(heap.alloc(value)),
        };
        heap.alloc_simple(NamespaceValue {
            name: self.name,
            members,
            callee,
        })
    }
}

/// A module of built-ins as a Starlark value.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct NamespaceValue {
    name: &'static str,
    #[allocative(skip)]
    members: BTreeMap<&'static str, FrozenValue>,
    #[allocative(skip)]
    callee: Option<FrozenValue>,
}

#[starlark_value(type = "module")]
impl<'v> StarlarkValue<'v> for NamespaceValue {
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

impl fmt::Display for NamespaceValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<module {}>", self.name)
    }
}
