//! What a script's reach means for its tool's effects.

use crate::artifact::tool::DeclaredBounds;
use crate::builtin::{self, Builtin, full_name};
use crate::effect::Effects;
use crate::facts::{Facts, Named};
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// The built-in of that full name, as `fs.read` or `env`.
pub(super) fn builtin_named(name: &str) -> Option<&'static Builtin> {
    static BY_NAME: OnceLock<HashMap<String, &'static Builtin>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        builtin::all()
            .map(|(_, module, builtin)| (full_name(module, builtin), builtin))
            .collect()
    });
    by_name.get(name).copied()
}

/// The built-ins a script reaches, each once, where it is first mentioned.
pub(super) fn reached(facts: &Facts) -> impl Iterator<Item = (&Named, &'static Builtin)> {
    let mut seen = HashSet::new();
    let first = facts
        .reaches
        .iter()
        .filter(move |named| seen.insert(named.name.as_str()));
    first.filter_map(|named| builtin_named(&named.name).map(|builtin| (named, builtin)))
}

/// The union of what the reached built-ins do.
pub(super) fn inferred(facts: &Facts) -> Effects {
    reached(facts).fold(Effects::NONE, |all, (_, builtin)| all | builtin.effects)
}

impl DeclaredBounds {
    /// The most the script may do: the declared effects, or all that are not ruled out.
    pub(super) fn bound(&self) -> Effects {
        let widest = self
            .exactly
            .map_or(Effects::ALL, |exactly| exactly | self.at_least);
        widest.unflagged().without(self.without)
    }

    /// The effects a tool counts as having. An unparsed script counts as having all that are not
    /// ruled out.
    pub(super) fn effects(&self, inferred: Option<Effects>) -> Effects {
        let flags = inferred
            .map_or(Effects::NONE, |set| set.without(Effects::ALL))
            .without(self.without);
        // What a process of the tool could do, and the tool rules out, is withheld from it.
        let starts = inferred.is_some_and(|set| set.contains(Effects::EXEC))
            && !self.without.contains(Effects::EXEC);
        let inferred = inferred.map(|set| {
            if starts {
                set.without(self.without)
            } else {
                set
            }
        });
        let base = self.exactly.or(inferred).unwrap_or_else(|| self.bound());
        base | self.at_least | flags
    }
}
