//! What the names that a script does not bind stand for.

use starlark::environment::Globals;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use tool_harness::builtin::{Body, Builtin, Module};
use tool_harness::check::facts::ScriptKind;

/// The names a `when` is given.
const GIVEN: [&str; 2] = ["event", "payload"];

/// Every name a script can use without defining it.
pub(super) struct Known<'m> {
    kind: ScriptKind,
    spaces: HashMap<&'m str, Space<'m>>,
    globals: HashMap<&'m str, &'m Builtin>,
}

/// The members of one namespace.
#[derive(Default)]
pub(super) struct Space<'m> {
    calls: Vec<&'m Builtin>,
    constants: Vec<&'m str>,
}

impl<'m> Known<'m> {
    /// The names of these modules, for this kind of script. Several modules may share a name.
    pub(super) fn new(kind: ScriptKind, modules: &[&'m Module]) -> Self {
        let mut known = Self { kind, spaces: HashMap::new(), globals: HashMap::new() };
        for module in modules {
            if module.name.is_empty() {
                known.globals.extend(module.calls.iter().map(|call| (call.name, call)));
            } else {
                let space = known.spaces.entry(module.name).or_default();
                space.calls.extend(module.calls);
                space.constants.extend(module.constants.iter().map(|&(name, _)| name));
            }
        }
        known
    }

    /// The namespace of that name.
    pub(super) fn space(&self, name: &str) -> Option<&Space<'m>> {
        self.spaces.get(name)
    }

    /// The names of all namespaces.
    pub(super) fn spaces(&self) -> impl Iterator<Item = &'m str> {
        self.spaces.keys().copied()
    }

    /// Whether a global built-in has that name. A name can be both: `log` can be called and has members.
    pub(super) fn is_global(&self, name: &str) -> bool {
        self.globals.contains_key(name)
    }

    /// Whether a free name stands for anything.
    pub(super) fn has(&self, name: &str) -> bool {
        self.spaces.contains_key(name)
            || self.globals.contains_key(name)
            || standard().contains(name)
            || (self.kind == ScriptKind::When && GIVEN.contains(&name))
    }

    /// Whether a reached built-in, as `fs.read` or `env`, is computed by the worker alone.
    pub(super) fn is_pure(&self, reached: &str) -> bool {
        let builtin = match reached.split_once('.') {
            Some((space, call)) => self.spaces.get(space).and_then(|space| space.call(call)),
            None => self.globals.get(reached).copied(),
        };
        builtin.is_some_and(|builtin| matches!(builtin.body, Body::Pure(_)))
    }
}

impl<'m> Space<'m> {
    /// The names of all calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &'m str> {
        self.calls.iter().map(|call| call.name)
    }

    /// The call of that name.
    pub(super) fn call(&self, name: &str) -> Option<&'m Builtin> {
        self.calls.iter().copied().find(|call| call.name == name)
    }

    /// Whether there is a call or a constant of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.call(name).is_some() || self.constants.contains(&name)
    }
}

/// The interpreter's own globals. Building them takes milliseconds, so they are kept.
fn standard() -> &'static HashSet<String> {
    static NAMES: OnceLock<HashSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| Globals::standard().names().map(|name| name.as_str().to_owned()).collect())
}
