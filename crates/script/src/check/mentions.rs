//! Texts with the first place they were seen at.

use std::collections::BTreeMap;
use tool_harness::facts::Named;
use tool_harness::span::Source;

/// Each text once, with its smallest byte offset.
#[derive(Default)]
pub(super) struct Mentions(BTreeMap<String, usize>);

impl Mentions {
    /// Records a text at a byte offset; an earlier mention stays.
    pub(super) fn note(&mut self, text: impl Into<String>, at: usize) {
        let first = self.0.entry(text.into()).or_insert(at);
        *first = at.min(*first);
    }

    /// In source order; what was seen at one place is in the order of its text.
    pub(super) fn into_named(self, source: &Source) -> Vec<Named> {
        let mut all: Vec<(String, usize)> = self.0.into_iter().collect();
        all.sort_by_key(|&(_, at)| at);
        all.into_iter()
            .map(|(text, at)| named(source, text, at))
            .collect()
    }
}

/// A text with the line and column of a byte offset.
pub(super) fn named(source: &Source, name: impl Into<String>, at: usize) -> Named {
    let position = source.position(at);
    Named {
        name: name.into(),
        line: position.line,
        column: position.column,
    }
}
