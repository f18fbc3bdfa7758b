//! Finds encoded values and the starts of tokens in one pass.

use super::decode::{self, Decoder};
use super::encoding::encodings;
use super::token::{Eof, SHAPES, TokenShape};
use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::ops::{Deref, Range};
use std::sync::{Arc, LazyLock};

/// Bytes of a text that are decoded at a time.
pub(super) const PIECE: usize = 64 << 10;

/// One automaton for everything that is searched for.
pub(super) struct SecretMatcher {
    /// `None` if it could not be built.
    machine: Option<AhoCorasick>,
    /// By the pattern numbers of the automaton: the shape of a token, `None` for a value.
    shapes: Vec<Option<&'static TokenShape>>,
    /// All patterns in order, to find texts that may be the start of one.
    sorted: Vec<Vec<u8>>,
    longest: usize,
    /// Bytes of the shortest text that can contain a whole secret.
    least: usize,
    /// Finds values that end in backslashes without those, since the decoder may join a backslash
    /// with what follows. `None` if there are no such values.
    cut: Option<AhoCorasick>,
    /// The first bytes of the patterns.
    starts: [bool; 256],
    /// Whether there are values among the patterns.
    pub(super) has_values: bool,
}

/// A match of the automaton.
#[derive(Clone)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The shape of the token it may begin; `None` for a value.
    pub(super) shape: Option<&'static TokenShape>,
}

impl SecretMatcher {
    pub(super) fn new(values: &[&[u8]]) -> Self {
        let heads = SHAPES.iter().flat_map(|shape| {
            shape
                .heads
                .iter()
                .map(move |head| (head.as_bytes().to_vec(), Some(shape)))
        });
        let mut needles: Vec<(Vec<u8>, Option<&'static TokenShape>)> = values
            .iter()
            .flat_map(|value| encodings(value))
            .map(|form| (form, None))
            .chain(heads)
            .collect();
        // A needle that is both a value and the head of a token counts as a value.
        needles.sort_by(|(a, of_a), (b, of_b)| a.cmp(b).then(of_a.is_some().cmp(&of_b.is_some())));
        needles.dedup_by(|(a, _), (b, _)| a == b);
        let mut starts = [false; 256];
        needles
            .iter()
            .filter_map(|(needle, _)| needle.first())
            .for_each(|first| starts[usize::from(*first)] = true);
        let machine = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(needles.iter().map(|(needle, _)| needle));
        let (sorted, shapes): (Vec<_>, Vec<_>) = needles.into_iter().unzip();
        let longest = sorted.iter().map(Vec::len).max().unwrap_or(0);
        let least = |(needle, shape): (&Vec<u8>, &Option<&TokenShape>)| match shape {
            Some(shape) => needle.len() + shape.tail.least(),
            // What becomes of a final backslash depends on the decoder.
            None => needle
                .iter()
                .rposition(|byte| *byte != b'\\')
                .map_or(0, |last| last + 1),
        };
        let least = sorted.iter().zip(&shapes).map(least).min().unwrap_or(0);
        Self {
            machine: machine.ok(),
            shapes,
            longest,
            least,
            cut: cut(&sorted),
            starts,
            has_values: !values.is_empty(),
            sorted,
        }
    }

    /// Whether a text contains no match, neither as it is nor decoded.
    pub(super) fn is_clean(&self, text: &[u8]) -> bool {
        if text.len() < self.least {
            return true;
        }
        if self.find(text, 0).is_some() {
            return false;
        }
        !self.has_values
            || !text.iter().any(|byte| decode::may_differ(*byte))
            || self.is_clean_decoded(text)
    }

    /// Decodes in pieces, since the segments of the decoder take more memory than the text.
    fn is_clean_decoded(&self, text: &[u8]) -> bool {
        let (mut decoder, mut start, mut end) = (Decoder::default(), 0, 0);
        while end < text.len() {
            end = text.len().min(end + PIECE);
            decoder.feed(
                &text[start..end],
                if end < text.len() {
                    Eof::NotYet
                } else {
                    Eof::Reached
                },
            );
            if self.find_decoded(&decoder).next().is_some() {
                return false;
            }
            let gone = decoder.place(self.partial_start(decoder.text())).start;
            decoder.forget(gone);
            start += gone;
        }
        true
    }

    /// The values in the decoded text, as ranges of the original, if the two differ. They may
    /// overlap and are not sorted.
    pub(super) fn find_decoded<'a>(
        &'a self,
        decoder: &'a Decoder,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let text = decoder.differs().unwrap_or_default();
        let find = move |at: usize| {
            self.find(text, at)
                .map(|hit| (hit.start..hit.end, hit.shape.is_none()))
        };
        let find_cut = move |at: usize| {
            let found = self
                .cut
                .as_ref()?
                .find(Input::new(text).range(at.min(text.len())..))?;
            Some((found.range(), decoder.has_backslash(found.end())))
        };
        hits(find)
            .chain(hits(find_cut))
            .map(|found| decoder.written(found))
    }

    /// The first match from `at`.
    pub(super) fn find(&self, text: &[u8], at: usize) -> Option<Hit> {
        let found = self
            .machine
            .as_ref()?
            .find(Input::new(text).range(at.min(text.len())..))?;
        Some(Hit {
            start: found.start(),
            end: found.end(),
            shape: self
                .shapes
                .get(found.pattern().as_usize())
                .copied()
                .flatten(),
        })
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

/// The matches that count, in order.
fn hits(
    find: impl Fn(usize) -> Option<(Range<usize>, bool)>,
) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    let all = std::iter::from_fn(move || {
        let hit = find(at)?;
        at = hit.0.start + 1;
        Some(hit)
    });
    all.filter(|(_, counts)| *counts).map(|(found, _)| found)
}

/// Finds patterns that end in backslashes by what comes before those.
fn cut(needles: &[Vec<u8>]) -> Option<AhoCorasick> {
    let is_backslash = |byte: &u8| *byte == b'\\';
    let ends = needles
        .iter()
        .filter(|needle| needle.last().is_some_and(is_backslash));
    let cut: Vec<&[u8]> = ends
        .filter_map(|needle| Some(&needle[..=needle.iter().rposition(|byte| !is_backslash(byte))?]))
        .collect();
    let machine = || {
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&cut)
            .ok()
    };
    if cut.is_empty() { None } else { machine() }
}

/// The matcher without values.
pub(super) fn shapes_only() -> &'static SecretMatcher {
    static SHAPES_ONLY: LazyLock<SecretMatcher> = LazyLock::new(|| SecretMatcher::new(&[]));
    &SHAPES_ONLY
}

/// The matcher that one text is searched with.
#[derive(Clone)]
pub(super) enum MatcherRef {
    ShapesOnly(&'static SecretMatcher),
    WithValues(Arc<SecretMatcher>),
}

impl Deref for MatcherRef {
    type Target = SecretMatcher;

    fn deref(&self) -> &SecretMatcher {
        match self {
            Self::ShapesOnly(matcher) => matcher,
            Self::WithValues(matcher) => matcher,
        }
    }
}
