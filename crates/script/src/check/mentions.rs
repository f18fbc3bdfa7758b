//! Texts with the place of their first mention.

use std::collections::BTreeMap;
use tool_harness::facts::Named;
use tool_harness::span::Source;

/// Each text once, with its smallest byte offset.
#[derive(Default)]
pub(super) struct FirstMentions(BTreeMap<String, usize>);

impl FirstMentions {
    /// Records a text at a byte offset. An earlier mention wins.
    pub(super) fn note(&mut self, text: impl Into<String>, offset: usize) {
        let first = self.0.entry(text.into()).or_insert(offset);
        *first = offset.min(*first);
    }

    /// The mentions that are not among others.
    pub(super) fn without(mut self, others: &Self) -> Self {
        self.0.retain(|text, _| !others.0.contains_key(text));
        self
    }

    /// In source order. Texts at the same place are sorted.
    pub(super) fn into_named(self, source: &Source) -> Vec<Named> {
        let mut all: Vec<(String, usize)> = self.0.into_iter().collect();
        all.sort_by_key(|&(_, offset)| offset);
        all.into_iter()
            .map(|(text, offset)| named(source, text, offset))
            .collect()
    }
}

/// A text with the line and column of a byte offset.
pub(super) fn named(source: &Source, name: impl Into<String>, offset: usize) -> Named {
    let position = source.position(offset);
    Named {
        name: name.into(),
        line: position.line,
        column: position.column,
    }
}
