//! Finds what a text says about tools: each name used as a tool's, where, and under which marker.
//! Linear in the text.

mod block;
mod call;
mod line;
mod marker;
mod object;
mod word;

#[cfg(test)]
mod tests;

use crate::span::Span;
use call::Calls;
use line::Lines;
pub(super) use marker::Marker;
use object::Objects;
use std::collections::HashMap;

/// The names that are declared.
#[derive(Debug, Default)]
pub struct DeclaredNames<'n> {
    by_name: HashMap<&'n str, usize>,
    /// For each tool, argument names and aliases to the canonical name.
    aliases: HashMap<usize, HashMap<&'n str, &'n str>>,
}

impl<'n> DeclaredNames<'n> {
    /// Adds a name of a tool; the first tool of a name keeps it.
    pub fn add(&mut self, name: &'n str, tool: usize) {
        self.by_name.entry(name).or_insert(tool);
    }

    /// Adds an alias of an argument.
    pub(crate) fn add_alias(&mut self, tool: usize, alias: &'n str, canonical: &'n str) {
        let aliases = self.aliases.entry(tool).or_default();
        aliases.insert(alias, canonical);
        aliases.entry(canonical).or_insert(canonical);
    }

    /// The tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The argument that a name means in calls of a tool, if the argument has aliases.
    fn canonical(&self, tool: usize, name: &str) -> Option<&'n str> {
        self.aliases.get(&tool)?.get(name).copied()
    }
}

/// Whether fenced code is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fences {
    /// Code in fences is an example, not an instruction.
    #[default]
    Skip,
    /// It is checked like any other line.
    Scan,
}

/// The tools and arguments that one text mentions.
#[derive(Debug, Default)]
pub struct ScannedText {
    /// Names used as those of tools, in order.
    pub references: Vec<NameUse>,
    /// Aliases of arguments, used in calls.
    pub aliases: Vec<AliasUse>,
    pub(super) markers: Vec<Marker>,
    pub(super) odd_markers: Vec<(Span, String)>,
    pub(super) unclosed_fence: Option<Span>,
}

/// One use of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameUse {
    /// Its place in the text.
    pub span: Span,
    /// The name, if it is written with escapes.
    pub decoded: Option<Box<str>>,
    /// The marker that covers its line; known once the whole text is read.
    pub marker: Option<usize>,
}

impl NameUse {
    /// A name without escapes.
    fn plain(span: Span) -> Self {
        Self {
            span,
            decoded: None,
            marker: None,
        }
    }

    /// The name.
    #[must_use]
    pub fn name<'s>(&'s self, text: &'s str) -> &'s str {
        self.decoded
            .as_deref()
            .unwrap_or_else(|| text.get(self.span.start..self.span.end).unwrap_or_default())
    }
}

/// One use of an alias of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AliasUse {
    /// The tool that is called.
    pub tool: usize,
    /// Where.
    pub used: NameUse,
    /// Whether the call also gives the argument under a second name.
    pub twice: bool,
}

/// Reads a text.
#[must_use]
pub fn scan(text: &str, names: &DeclaredNames<'_>, fences: Fences) -> ScannedText {
    let lines = Lines::of(text, fences);
    let mut calls = Calls::new(text, names);
    let mut objects = Objects::new(text, names);
    for line in &lines.lines {
        let seen = Some(line).filter(|line| fences == Fences::Scan || !line.fenced);
        calls.line(seen);
        objects.line(seen);
    }
    let mut uses = calls.finish();
    uses.join(objects.finish());
    let of_aliases = uses.aliases.iter_mut().map(|alias| &mut alias.used);
    for name in uses.references.iter_mut().chain(of_aliases) {
        let index = lines
            .lines
            .partition_point(|line| line.span.end < name.span.start);
        name.marker = lines.lines.get(index).and_then(|line| line.marker);
    }
    ScannedText {
        references: uses.references,
        aliases: uses.aliases,
        markers: lines.markers,
        odd_markers: lines.odd_markers,
        unclosed_fence: lines.unclosed_fence,
    }
}

/// Collects what the passes find.
#[derive(Debug, Default)]
struct Uses {
    references: Vec<NameUse>,
    aliases: Vec<AliasUse>,
}

impl Uses {
    fn reference(&mut self, span: Span) {
        self.references.push(NameUse::plain(span));
    }

    /// Records the aliases among the arguments of a call.
    fn arguments(
        &mut self,
        text: &str,
        names: &DeclaredNames<'_>,
        tool: usize,
        given: Vec<NameUse>,
    ) {
        let known: Vec<(NameUse, &str)> = given
            .into_iter()
            .filter_map(|used| {
                let canonical = names.canonical(tool, used.name(text))?;
                Some((used, canonical))
            })
            .collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        known
            .iter()
            .for_each(|(_, canonical)| *counts.entry(canonical).or_default() += 1);
        for (used, canonical) in known {
            if used.name(text) != canonical {
                self.aliases.push(AliasUse {
                    tool,
                    used,
                    twice: counts.get(canonical).is_some_and(|count| *count > 1),
                });
            }
        }
    }

    /// Merges both passes in the order of the text; what both saw counts once.
    fn join(&mut self, other: Self) {
        self.references.extend(other.references);
        self.aliases.extend(other.aliases);
        self.references
            .sort_by_key(|name| (name.span.start, name.span.end));
        self.references.dedup_by_key(|name| name.span.start);
        // The pass that saw more of the call is right.
        self.aliases
            .sort_by_key(|alias| (alias.used.span.start, alias.tool, !alias.twice));
        self.aliases
            .dedup_by_key(|alias| (alias.used.span.start, alias.tool));
    }
}
