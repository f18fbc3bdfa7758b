//! The names that a script can use without defining them.

use std::collections::HashMap;
use tool_harness::builtin::{Body, Builtin, Kind, Module, Scope};
use tool_harness::facts::{CONDITION_BUILTINS, ScriptKind};

/// The variables of a `when`.
const WHEN_VARIABLES: [&str; 2] = ["event", "payload"];

/// The built-ins, Starlark's own globals, and the variables of a `when`.
pub(super) struct Predeclared<'m> {
    kind: ScriptKind,
    namespaces: HashMap<&'m str, Namespace<'m>>,
    globals: HashMap<&'m str, Vec<&'m Builtin>>,
}

/// The members of one module of built-ins.
#[derive(Default)]
pub(super) struct Namespace<'m> {
    calls: Vec<&'m Builtin>,
    constants: Vec<&'m str>,
}

impl<'m> Predeclared<'m> {
    /// Collects the names of these modules. Several modules may share a name.
    pub(super) fn new(kind: ScriptKind, modules: &[&'m Module]) -> Self {
        let mut names = Self {
            kind,
            namespaces: HashMap::new(),
            globals: HashMap::new(),
        };
        for module in modules {
            if !module.name.is_empty() {
                let namespace = names.namespaces.entry(module.name).or_default();
                let constants = module.constants.iter().map(|&(name, _)| name);
                namespace.constants.extend(constants);
            }
            for call in module.calls {
                match (module.name, call.name) {
                    // A built-in without a name is called by the module's name.
                    ("", name) | (name, "") => names.globals.entry(name).or_default().push(call),
                    (name, _) => names.namespaces.entry(name).or_default().calls.push(call),
                }
            }
        }
        names
    }

    pub(super) fn namespace(&self, name: &str) -> Option<&Namespace<'m>> {
        self.namespaces.get(name)
    }

    pub(super) fn namespaces(&self) -> impl Iterator<Item = &'m str> {
        self.namespaces.keys().copied()
    }

    /// Whether this is a global built-in. A name can be both: `log` can be called and has members.
    pub(super) fn is_global(&self, name: &str) -> bool {
        self.globals.contains_key(name)
    }

    /// Whether a name that the script does not define has a meaning.
    pub(super) fn has(&self, name: &str) -> bool {
        self.namespaces.contains_key(name)
            || self.globals.contains_key(name)
            || is_standard(name)
            || (self.kind == ScriptKind::When && WHEN_VARIABLES.contains(&name))
    }

    /// Whether a built-in takes only text as its argument at this position.
    pub(super) fn takes_text(&self, namespace: &str, call: &str, position: usize) -> bool {
        self.namespaces.get(namespace).is_some_and(|namespace| {
            let mut named = namespace.named(call);
            named.any(|call| {
                call.params
                    .get(position)
                    .is_some_and(|param| param.kind == Kind::Text)
            })
        })
    }

    /// Whether an expression may call a built-in such as `fs.read` or `env`: it is pure, or the
    /// harness answers it while it loads a bundle. One name may stand for different built-ins in
    /// tools and in hooks.
    pub(super) fn is_pure(&self, reached: &str) -> bool {
        if self.kind == ScriptKind::Condition && CONDITION_BUILTINS.contains(&reached) {
            return true;
        }
        let named: Vec<&Builtin> = match reached.split_once('.') {
            Some((namespace, call)) => self
                .namespaces
                .get(namespace)
                .into_iter()
                .flat_map(|namespace| namespace.named(call))
                .collect(),
            None => self.globals.get(reached).cloned().unwrap_or_default(),
        };
        let mut offered = named
            .into_iter()
            .filter(|builtin| is_offered(builtin.scope, self.kind))
            .peekable();
        offered.peek().is_some() && offered.all(|builtin| matches!(builtin.body, Body::Pure(_)))
    }
}

/// Whether scripts of this kind have the built-ins of this scope.
pub(crate) fn is_offered(scope: Scope, kind: ScriptKind) -> bool {
    match scope {
        Scope::Both => true,
        Scope::Tools => kind == ScriptKind::Tool,
        Scope::Hooks => kind != ScriptKind::Tool,
    }
}

impl<'m> Namespace<'m> {
    pub(super) fn calls(&self) -> impl Iterator<Item = &'m str> {
        self.calls.iter().map(|call| call.name)
    }

    pub(super) fn has_call(&self, name: &str) -> bool {
        self.named(name).next().is_some()
    }

    /// Whether there is a call or a constant with that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.has_call(name) || self.constants.contains(&name)
    }

    /// The call of that name.
    pub(super) fn call(&self, name: &str) -> Option<&'m Builtin> {
        self.named(name).next()
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &'m Builtin> {
        self.calls
            .iter()
            .copied()
            .filter(move |call| call.name == name)
    }
}

/// Starlark's own globals. They are listed here because building them, only to ask for their names,
/// takes milliseconds.
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

pub(super) fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::STANDARD;
    use crate::check::dialect::EXTENSIONS;
    use starlark::environment::Globals;

    #[test]
    fn the_standard_names_match_the_interpreter() {
        let globals = Globals::extended_by(EXTENSIONS);
        let mut names: Vec<&str> = globals.names().map(|name| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, STANDARD);
    }
}
