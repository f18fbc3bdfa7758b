//! Finds encoded values and the starts of tokens.
//!
//! The two are searched for apart: few needles are found many times faster than many.

use super::decode::{self, Decoder, LineEnds};
use super::encoding::{encodings, in_base64};
use super::needles::Needles;
use super::shape::SHAPES;
use super::token::{Eof, TokenShape};
use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::ops::{Deref, Range};
use std::sync::{Arc, LazyLock};

/// Bytes of a text that are decoded at a time.
pub(super) const PIECE: usize = 64 << 10;

/// Everything that is searched for.
pub(super) struct SecretMatcher {
    values: Needles,
    /// The values in base64, which may be wrapped into lines of any width.
    wrapped: Needles,
    /// Bytes of the shortest text that can contain a whole secret.
    least: usize,
    /// Finds values that end in backslashes without those, since the decoder may join a backslash
    /// with what follows. `None` if there are no such values.
    cut: Option<AhoCorasick>,
    /// Whether there are values.
    pub(super) has_values: bool,
}

/// How tokens begin.
struct Heads {
    needles: Needles,
    /// The shape of each.
    shapes: Vec<&'static TokenShape>,
    least: usize,
}

static HEADS: LazyLock<Heads> = LazyLock::new(|| {
    let heads = || {
        let of_shape = |shape: &'static TokenShape| {
            let heads = shape.heads.iter();
            heads.map(move |head| (head.as_bytes(), shape))
        };
        SHAPES.iter().flat_map(of_shape)
    };
    let needles = Needles::new(heads().map(|(head, _)| head.to_vec()).collect());
    let shape =
        |needle: &Vec<u8>| heads().find_map(|(head, shape)| (head == *needle).then_some(shape));
    Heads {
        shapes: needles.all().iter().filter_map(shape).collect(),
        needles,
        least: heads()
            .map(|(head, shape)| head.len() + shape.tail.least())
            .min()
            .unwrap_or(0),
    }
});

/// A match.
#[derive(Clone)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The shape of the token it may begin; `None` for a value.
    pub(super) shape: Option<&'static TokenShape>,
}

/// The matches in a text from left to right. What was found ahead is kept, so that the text is
/// searched once, however many matches of one kind come before the next of the other.
pub(super) struct Search<'a> {
    matcher: &'a SecretMatcher,
    text: &'a [u8],
    head: Ahead,
    value: Ahead,
}

/// The next match of one kind.
enum Ahead {
    Unknown,
    None,
    At(Hit),
}

impl Ahead {
    /// The next match from `at`, which never goes back.
    fn from(&mut self, at: usize, find: impl FnOnce() -> Option<Hit>) -> Option<&Hit> {
        let is_behind = match self {
            Self::Unknown => true,
            Self::None => false,
            Self::At(hit) => hit.start < at,
        };
        if is_behind {
            *self = find().map_or(Self::None, Self::At);
        }
        match self {
            Self::At(hit) => Some(hit),
            Self::Unknown | Self::None => None,
        }
    }
}

impl Search<'_> {
    /// The first match from `at`, which must not be less than in the search before. Of two that
    /// begin there, the longer one; of two equal ones, the value.
    pub(super) fn find(&mut self, at: usize) -> Option<Hit> {
        let (matcher, text) = (self.matcher, self.text);
        let head = self.head.from(at, || {
            let (found, needle) = HEADS.needles.find(text, at)?;
            Some(Hit {
                start: found.start,
                end: found.end,
                shape: HEADS.shapes.get(needle).copied(),
            })
        });
        let value = self.value.from(at, || {
            let (found, _) = matcher.values.find(text, at)?;
            Some(Hit {
                start: found.start,
                end: found.end,
                shape: None,
            })
        });
        let first = |hit: &&Hit| (hit.start, std::cmp::Reverse(hit.end), hit.shape.is_some());
        head.into_iter().chain(value).min_by_key(first).cloned()
    }
}

impl SecretMatcher {
    pub(super) fn new(values: &[&[u8]]) -> Self {
        let needles = Needles::new(values.iter().flat_map(|value| encodings(value)).collect());
        // What becomes of a final backslash depends on the decoder.
        let least = |needle: &Vec<u8>| {
            let last = needle.iter().rposition(|byte| *byte != b'\\');
            last.map_or(0, |last| last + 1)
        };
        let least = needles.all().iter().map(least).min();
        Self {
            least: least.map_or(HEADS.least, |least| least.min(HEADS.least)),
            cut: cut(needles.all()),
            wrapped: Needles::new(values.iter().flat_map(|value| in_base64(value)).collect()),
            has_values: !values.is_empty(),
            values: needles,
        }
    }

    /// Whether a text contains no match, neither as it is nor decoded.
    pub(super) fn is_clean(&self, text: &[u8]) -> bool {
        if text.len() < self.least {
            return true;
        }
        if HEADS.needles.find(text, 0).is_some() || self.values.find(text, 0).is_some() {
            return false;
        }
        !self.has_values
            || !text.iter().any(|byte| decode::may_differ(*byte))
            || [LineEnds::AfterLongLines, LineEnds::All]
                .into_iter()
                .all(|ends| self.is_clean_decoded(text, ends))
    }

    /// Decodes in pieces, since the segments of the decoder take more memory than the text.
    fn is_clean_decoded(&self, text: &[u8], ends: LineEnds) -> bool {
        let (mut decoder, mut start, mut end) = (Decoder::new(ends), 0, 0);
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
            let gone = self.partial_decoded(&decoder);
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
        let needles = self.needles(decoder);
        let find = move |at: usize| needles.find(text, at).map(|(found, _)| (found, true));
        let cut = self.cut.as_ref();
        let cut = cut.filter(|_| decoder.line_ends() == LineEnds::AfterLongLines);
        let find_cut = move |at: usize| {
            let found = cut?.find(Input::new(text).range(at.min(text.len())..))?;
            Some((found.range(), decoder.has_backslash(found.end())))
        };
        hits(find)
            .chain(hits(find_cut))
            .map(|found| decoder.written(found))
    }

    /// Where in the original the tail begins that, decoded, may be the start of a value.
    pub(super) fn partial_decoded(&self, decoder: &Decoder) -> usize {
        let read = self.needles(decoder).partial_start(decoder.text());
        decoder.place(read).start
    }

    /// What is searched for in a decoded text. Without its line ends, only base64 is still itself.
    fn needles(&self, decoder: &Decoder) -> &Needles {
        match decoder.line_ends() {
            LineEnds::AfterLongLines => &self.values,
            LineEnds::All => &self.wrapped,
        }
    }

    /// Searches a text.
    pub(super) fn search<'a>(&'a self, text: &'a [u8]) -> Search<'a> {
        Search {
            matcher: self,
            text,
            head: Ahead::Unknown,
            value: Ahead::Unknown,
        }
    }

    /// Where the tail of a text begins that may be the start of a match.
    pub(super) fn partial_start(&self, text: &[u8]) -> usize {
        let head = HEADS.needles.partial_start(text);
        head.min(self.values.partial_start(text))
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
