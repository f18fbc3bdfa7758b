//! What the names that a script does not bind stand for.

use std::collections::HashMap;
use tool_harness::builtin::{Body, Builtin, Module, Scope};
use tool_harness::facts::ScriptKind;

/// The names a `when` is given.
const GIVEN: [&str; 2] = ["event", "payload"];

/// Every name a script can use without defining it.
pub(super) struct Known<'m> {
    kind: ScriptKind,
    spaces: HashMap<&'m str, Space<'m>>,
    globals: HashMap<&'m str, Vec<&'m Builtin>>,
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
        let mut known = Self {
            kind,
            spaces: HashMap::new(),
            globals: HashMap::new(),
        };
        for module in modules {
            if !module.name.is_empty() {
                known
                    .spaces
                    .entry(module.name)
                    .or_default()
                    .constants
                    .extend(module.constants.iter().map(|&(name, _)| name));
            }
            for call in module.calls {
                match (module.name, call.name) {
                    // A call without a name is what calling the module itself does.
                    ("", name) | (name, "") => known.globals.entry(name).or_default().push(call),
                    (space, _) => known.spaces.entry(space).or_default().calls.push(call),
                }
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
            || is_standard(name)
            || (self.kind == ScriptKind::When && GIVEN.contains(&name))
    }

    /// Whether a reached built-in, as `fs.read` or `env`, is computed by the worker alone. One name may stand for one thing in tools and
    /// another in hooks.
    pub(super) fn is_pure(&self, reached: &str) -> bool {
        let named: Vec<&Builtin> = match reached.split_once('.') {
            Some((space, call)) => self
                .spaces
                .get(space)
                .into_iter()
                .flat_map(|space| space.named(call))
                .collect(),
            None => self.globals.get(reached).cloned().unwrap_or_default(),
        };
        let mut offered = named
            .into_iter()
            .filter(|builtin| self.offers(builtin.scope))
            .peekable();
        offered.peek().is_some() && offered.all(|builtin| matches!(builtin.body, Body::Pure(_)))
    }

    fn offers(&self, scope: Scope) -> bool {
        match scope {
            Scope::Both => true,
            Scope::Tools => self.kind == ScriptKind::Tool,
            Scope::Hooks => self.kind != ScriptKind::Tool,
        }
    }
}

impl<'m> Space<'m> {
    /// The names of all calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &'m str> {
        self.calls.iter().map(|call| call.name)
    }

    /// Whether there is a call of that name.
    pub(super) fn has_call(&self, name: &str) -> bool {
        self.named(name).next().is_some()
    }

    /// Whether there is a call or a constant of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.has_call(name) || self.constants.contains(&name)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &'m Builtin> {
        self.calls
            .iter()
            .copied()
            .filter(move |call| call.name == name)
    }
}

/// The interpreter's own globals. Written down because building them to ask for their names takes milliseconds.
const STANDARD: &[&str] = &[
    "False",
    "None",
    "True",
    "abs",
    "all",
    "any",
    "bool",
    "bytes",
    "chr",
    "dict",
    "dir",
    "enumerate",
    "fail",
    "filter",
    "float",
    "getattr",
    "hasattr",
    "hash",
    "int",
    "len",
    "list",
    "map",
    "max",
    "min",
    "ord",
    "partial",
    "range",
    "repr",
    "reversed",
    "set",
    "sorted",
    "str",
    "struct",
    "tuple",
    "type",
    "zip",
];

/// Whether the interpreter itself has a global of that name.
pub(super) fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::STANDARD;
    use crate::check::dialect::EXTENSIONS;
    use starlark::environment::Globals;

    #[test]
    fn the_standard_names_are_those_of_the_interpreter() {
        let globals = Globals::extended_by(EXTENSIONS);
        let mut names: Vec<&str> = globals.names().map(|name| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, STANDARD);
    }
}
