//! What is looked for in one pass: the forms of known values, and how tokens begin.

use super::form::forms;
use super::read::{self, Reader};
use super::shape::{More, SHAPES, Shape};
use aho_corasick::{AhoCorasick, Input, MatchKind};
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// Bytes of a text that are read at once.
pub(super) const PIECE: usize = 64 << 10;

/// One machine for everything that is looked for.
pub(super) struct Known {
    /// Absent when there is nothing to look for.
    machine: Option<AhoCorasick>,
    /// By the machine's own numbers: the shape of a head, nothing for a value.
    shapes: Vec<Option<&'static Shape>>,
    /// All of them in order, to tell what may be the start of one.
    sorted: Vec<Vec<u8>>,
    longest: usize,
    /// Bytes of the shortest text that can hold one of them whole.
    least: usize,
    /// Values that end in a backslash, without it: what comes after it may be read as one with it. Absent when there are none.
    cut: Option<AhoCorasick>,
    /// Bytes that one of them starts with.
    starts: [bool; 256],
    /// Whether a value is among them.
    pub(super) has_values: bool,
}

/// Something that was found.
#[derive(Clone)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whose head it is; nothing for a value.
    pub(super) shape: Option<&'static Shape>,
}

impl Known {
    fn new(values: &[&[u8]]) -> Self {
        let heads = SHAPES.iter().flat_map(|shape| {
            shape
                .heads
                .iter()
                .map(move |head| (head.as_bytes().to_vec(), Some(shape)))
        });
        let mut needles: Vec<(Vec<u8>, Option<&'static Shape>)> = values
            .iter()
            .flat_map(|value| forms(value))
            .map(|form| (form, None))
            .chain(heads)
            .collect();
        // What is both a value and a head is a value.
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
        let least = |(needle, shape): (&Vec<u8>, &Option<&Shape>)| match shape {
            Some(shape) => needle.len() + shape.tail.least(),
            // What comes of a backslash at its end depends on how the text is read.
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

    /// Whether a text has none of them, neither as it is written nor as it reads.
    pub(super) fn is_clean(&self, text: &[u8]) -> bool {
        if text.len() < self.least {
            return true;
        }
        if self.find(text, 0).is_some() {
            return false;
        }
        !self.has_values
            || !text.iter().any(|byte| read::may_differ(*byte))
            || self.reads_clean(text)
    }

    /// In pieces: what is known of a text's escapes takes more room than they do.
    fn reads_clean(&self, text: &[u8]) -> bool {
        let (mut reader, mut start, mut end) = (Reader::default(), 0, 0);
        while end < text.len() {
            end = text.len().min(end + PIECE);
            reader.feed(
                &text[start..end],
                if end < text.len() {
                    More::MayCome
                } else {
                    More::Not
                },
            );
            if self.read(&reader).next().is_some() {
                return false;
            }
            let gone = reader.place(self.begun(reader.text())).start;
            reader.forget(gone);
            start += gone;
        }
        true
    }

    /// Where values are in what was read, if it differs from what is written: their places there. They may overlap, and are in no order.
    pub(super) fn read<'a>(
        &'a self,
        reader: &'a Reader,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        let text = reader.differs().unwrap_or_default();
        let find = move |at: usize| {
            self.find(text, at)
                .map(|hit| (hit.start..hit.end, hit.shape.is_none()))
        };
        let find_cut = move |at: usize| {
            let found = self
                .cut
                .as_ref()?
                .find(Input::new(text).range(at.min(text.len())..))?;
            Some((found.range(), reader.has_backslash(found.end())))
        };
        hits(find)
            .chain(hits(find_cut))
            .map(|found| reader.written(found))
    }

    /// The first of them from `at` on.
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

    /// Where the end of a text begins that may be the start of one of them.
    pub(super) fn begun(&self, text: &[u8]) -> usize {
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

/// What is found and counts, one after another.
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

/// Finds what ends in a backslash by what comes before it.
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

/// What is known when no value is.
pub(super) fn shapes_only() -> &'static Known {
    static SHAPES_ONLY: LazyLock<Known> = LazyLock::new(|| Known::new(&[]));
    &SHAPES_ONLY
}

/// Values read for calls that are looked for. A file or a command may give another one each time, and calls shall not become slower with every
/// one there was.
const MOST_FRESH: usize = 128;

/// Values that must not leave, learned as they are read. What is known when a project is loaded stays known: an old key is still a key. Of what
/// is read for calls, the last ones are.
#[derive(Default)]
pub(crate) struct Values {
    any: AtomicBool,
    learned: RwLock<Learned>,
}

#[derive(Default)]
struct Learned {
    values: Vec<Vec<u8>>,
    /// Others that were read for calls, the last one last.
    fresh: Vec<Vec<u8>>,
    /// What finds them; there once there is one.
    known: Option<Arc<Known>>,
}

impl Values {
    /// Takes a value that must not leave from now on. One that is too short to be told from other text is not taken.
    pub(crate) fn learn(&self, value: &[u8]) -> Result<(), TooShort> {
        self.add(value, |learned, value| {
            let is_new = !learned.values.iter().any(|known| known == value);
            learned.values.extend(is_new.then(|| value.to_vec()));
            is_new
        })
    }

    /// The same for a value that was read for a call.
    pub(crate) fn learn_fresh(&self, value: &[u8]) -> Result<(), TooShort> {
        self.add(value, |learned, value| {
            if learned.values.iter().any(|known| known == value) {
                return false;
            }
            if let Some(place) = learned.fresh.iter().position(|known| known == value) {
                learned.fresh[place..].rotate_left(1);
                return false;
            }
            let surplus = (learned.fresh.len() + 1).saturating_sub(MOST_FRESH);
            learned.fresh.drain(..surplus);
            learned.fresh.push(value.to_vec());
            true
        })
    }

    /// Adds a value in this way, which says whether it was new.
    fn add(
        &self,
        value: &[u8],
        add: impl FnOnce(&mut Learned, &[u8]) -> bool,
    ) -> Result<(), TooShort> {
        // Whoever prints it may leave out the end of its line.
        let value = value.trim_ascii();
        if value.len() < super::LEAST_VALUE {
            return Err(TooShort);
        }
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        if add(&mut learned, value) {
            let all: Vec<&[u8]> = learned
                .values
                .iter()
                .chain(&learned.fresh)
                .map(Vec::as_slice)
                .collect();
            let known = Known::new(&all);
            learned.known = Some(Arc::new(known));
            self.any.store(true, Ordering::Release);
        }
        Ok(())
    }

    pub(super) fn known(&self) -> Held {
        if self.any.load(Ordering::Acquire)
            && let Some(known) = &self
                .learned
                .read()
                .unwrap_or_else(PoisonError::into_inner)
                .known
        {
            return Held::Learned(Arc::clone(known));
        }
        Held::Shapes(shapes_only())
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Values")
    }
}

/// A value that any text may hold by chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooShort;

/// What is known for as long as one text is looked at.
#[derive(Clone)]
pub(super) enum Held {
    Shapes(&'static Known),
    Learned(Arc<Known>),
}

impl Deref for Held {
    type Target = Known;

    fn deref(&self) -> &Known {
        match self {
            Self::Shapes(known) => known,
            Self::Learned(known) => known,
        }
    }
}
