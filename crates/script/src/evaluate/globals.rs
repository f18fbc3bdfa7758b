//! The globals of a script: Starlark's own, and the built-ins.

use super::bind::Signature;
use super::builtin::BuiltinValue;
use crate::check::dialect::EXTENSIONS;
use allocative::Allocative;
use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::{Arguments, Evaluator};
use starlark::values::{
    FrozenValue, Heap, NoSerialize, ProvidesStaticType, StarlarkPagablePanic, StarlarkValue, Value,
    ValueError, ValueLike, starlark_value,
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
    // Keeps Starlark's own values alive.
    builder.frozen_heap().add_reference(standard.heap());
    let mut globals: BTreeMap<&str, FrozenValue> = standard.iter().collect();
    let mut namespaces: BTreeMap<&'static str, NamespaceParts> = BTreeMap::new();
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
    for (name, call) in plain {
        globals.insert(name, builder.alloc(call));
    }
    for (name, NamespaceParts { calls, constants }) in namespaces {
        let calls = calls
            .into_iter()
            .map(|(name, call)| (name, builder.alloc(call)));
        let constants = constants
            .iter()
            .map(|&(name, value)| (name, builder.alloc(value)));
        let namespace = NamespaceValue {
            name,
            members: calls.chain(constants).collect(),
            callee: globals.get(name).copied(),
        };
        globals.insert(name, builder.frozen_heap().alloc_simple(namespace));
    }
    for (name, value) in globals {
        builder.set(name, value);
    }
    builder.build()
}

/// The members of a namespace before they are allocated.
#[derive(Default)]
struct NamespaceParts {
    calls: BTreeMap<&'static str, BuiltinValue>,
    constants: &'static [(&'static str, f64)],
}

/// A module of built-ins as a Starlark value.
#[derive(Debug, ProvidesStaticType, NoSerialize, StarlarkPagablePanic, Allocative)]
struct NamespaceValue {
    name: &'static str,
    #[allocative(skip)]
    members: BTreeMap<&'static str, FrozenValue>,
    /// What a call of the namespace itself runs: a built-in, as for `log("x")`, or Starlark's own
    /// function, as for `hash("x")`.
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
