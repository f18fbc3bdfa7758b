//! What a text says about tools: each name that is used as a tool's, where, and under which marker. Linear in the text.

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
use std::collections::{HashMap, HashSet};

/// The names that are declared.
#[derive(Debug, Default)]
pub struct Names<'n> {
    by_name: HashMap<&'n str, usize>,
    aliases: HashMap<usize, HashSet<&'n str>>,
}

impl<'n> Names<'n> {
    /// Adds a name of a tool; the first tool of a name keeps it.
    pub fn add(&mut self, name: &'n str, tool: usize) {
        self.by_name.entry(name).or_insert(tool);
    }

    /// Adds another name of an argument.
    pub fn add_alias(&mut self, tool: usize, alias: &'n str) {
        self.aliases.entry(tool).or_default().insert(alias);
    }

    /// The tool of that name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn is_alias(&self, tool: usize, name: &str) -> bool {
        self.aliases.get(&tool).is_some_and(|aliases| aliases.contains(name))
    }
}

/// Whether fenced code is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fences {
    /// Code in fences is an example, not an instruction.
    #[default]
    Skip,
    /// It is looked at like any other line.
    Scan,
}

/// What one text says.
#[derive(Debug, Default)]
pub struct Scanned {
    /// Names used as those of tools, in order.
    pub references: Vec<Use>,
    /// Other names of arguments, used in calls of these tools.
    pub aliases: Vec<(usize, Use)>,
    pub(super) markers: Vec<Marker>,
    pub(super) odd_markers: Vec<(Span, String)>,
    pub(super) unclosed_fence: Option<Span>,
}

/// One use of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Where it stands in the text.
    pub span: Span,
    /// The marker that covers its line.
    pub marker: Option<usize>,
}

/// Reads a text.
#[must_use]
pub fn scan(text: &str, names: &Names<'_>, fences: Fences) -> Scanned {
    let lines = Lines::of(text);
    let mut calls = Calls::new(text, names);
    let mut objects = Objects::new(text, names);
    for line in &lines.lines {
        let seen = Some(line).filter(|line| fences == Fences::Scan || !line.fenced);
        calls.line(seen);
        objects.line(seen);
    }
    let mut uses = calls.finish();
    uses.join(objects.finish());
    let place = |span: Span| {
        let index = lines.lines.partition_point(|line| line.span.end < span.start);
        Use { span, marker: lines.lines.get(index).and_then(|line| line.marker) }
    };
    Scanned {
        references: uses.references.into_iter().map(place).collect(),
        aliases: uses.aliases.into_iter().map(|(tool, span)| (tool, place(span))).collect(),
        markers: lines.markers,
        odd_markers: lines.odd_markers,
        unclosed_fence: lines.unclosed_fence,
    }
}

/// Collects what the passes find.
#[derive(Debug, Default)]
struct Uses {
    references: Vec<Span>,
    aliases: Vec<(usize, Span)>,
}

impl Uses {
    fn reference(&mut self, span: Span) {
        self.references.push(span);
    }

    fn alias(&mut self, tool: usize, span: Span) {
        self.aliases.push((tool, span));
    }

    /// Puts both together in the order of the text; what both passes saw counts once.
    fn join(&mut self, other: Self) {
        self.references.extend(other.references);
        self.aliases.extend(other.aliases);
        self.references.sort_by_key(|span| (span.start, span.end));
        self.references.dedup_by_key(|span| span.start);
        self.aliases.sort_by_key(|(tool, span)| (span.start, *tool));
        self.aliases.dedup();
    }
}
