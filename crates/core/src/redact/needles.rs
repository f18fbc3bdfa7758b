//! Texts that are searched for all at once.

use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::ops::Range;

/// A set of texts, and an automaton that finds them.
#[derive(Default)]
pub(super) struct Needles {
    /// `None` if there are none, or if it could not be built.
    machine: Option<AhoCorasick>,
    /// In order, to find texts that may be the start of one. A match names its needle by its place
    /// here.
    sorted: Vec<Vec<u8>>,
    longest: usize,
    /// The first bytes of the needles.
    starts: Vec<bool>,
}

impl Needles {
    pub(super) fn new(mut sorted: Vec<Vec<u8>>) -> Self {
        sorted.sort();
        sorted.dedup();
        let mut starts = vec![false; 256];
        for first in sorted.iter().filter_map(|needle| needle.first()) {
            starts[usize::from(*first)] = true;
        }
        let build = || {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(&sorted)
                .ok()
        };
        Self {
            machine: if sorted.is_empty() { None } else { build() },
            longest: sorted.iter().map(Vec::len).max().unwrap_or(0),
            starts,
            sorted,
        }
    }

    /// The needles, in order.
    pub(super) fn all(&self) -> &[Vec<u8>] {
        &self.sorted
    }

    /// The first match from `at`, and which needle it is.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
        let input = Input::new(text).range(at.min(text.len())..);
        let found = self.machine.as_ref()?.find(input)?;
        Some((found.range(), found.pattern().as_usize()))
    }

    /// Where the tail of a text begins that may be the start of a match.
    pub(super) fn partial_start(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let may_begin = |at: &usize| {
            let rest = &text[*at..];
            let next = self
                .sorted
                .partition_point(|needle| needle.as_slice() <= rest);
            self.sorted
                .get(next)
                .is_some_and(|needle| needle.starts_with(rest))
        };
        (from..text.len())
            .filter(|at| self.starts[usize::from(text[*at])])
            .find(may_begin)
            .unwrap_or(text.len())
    }
}
