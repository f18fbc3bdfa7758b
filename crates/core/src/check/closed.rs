//! The built-ins that policy closes to the scripts of tools.

use crate::builtin::{self, Scope, full_name};
use crate::rule::{self, Rule};
use std::collections::HashMap;

/// Closed built-ins by full name, each with the rule that closes it.
#[derive(Default)]
pub(crate) struct ClosedBuiltins<'a>(HashMap<String, &'a Rule>);

impl<'a> ClosedBuiltins<'a> {
    /// Asks the rules about every built-in once, so that no tool has to.
    pub(super) fn by(rules: &'a [Rule]) -> Self {
        if rules.is_empty() {
            return Self::default();
        }
        let of_tools = builtin::all().filter(|(_, _, builtin)| builtin.scope != Scope::Hooks);
        let closed = of_tools.filter_map(|(_, module, builtin)| {
            let name = full_name(module, builtin);
            let rule = rule::closing(rules, &name, builtin)?;
            Some((name, rule))
        });
        Self(closed.collect())
    }

    /// The rule that closes a built-in.
    pub(crate) fn closing(&self, name: &str) -> Option<&'a Rule> {
        self.0.get(name).copied()
    }
}
