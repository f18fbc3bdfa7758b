//! Where the value of a field ends.

use super::declared::declared;
use super::header::of_header;
use super::lines::{LineEnd, ValueLines, begins_line, below, block_indicator, continued};
use super::quote::{hashes, prefix, quote, strings};
use super::word::{Length, bare, brackets, in_url};
use super::{MAX_NAME, MAX_VALUE, blanks, count, name};
use std::ops::Range;

/// Where a value is.
pub(super) struct Extent {
    /// With its quotes; empty if there is none, or none yet.
    pub(super) value: Range<usize>,
    /// Whether more of it may come.
    pub(super) is_open: bool,
}

impl Extent {
    /// No value.
    pub(super) fn none(at: usize) -> Self {
        Self::closed(at, 0)
    }

    /// No value yet.
    pub(super) fn awaited(at: usize) -> Self {
        Self {
            value: at..at,
            is_open: true,
        }
    }

    pub(super) fn closed(start: usize, length: usize) -> Self {
        Self {
            value: start..start + length,
            is_open: false,
        }
    }

    /// The same with a start further to the left.
    fn from(self, start: usize) -> Self {
        Self {
            value: start..self.value.end,
            ..self
        }
    }
}

/// The part of a text in which a value is searched, and whether the text ends within it.
pub(super) fn window(text: &[u8], from: usize) -> (&[u8], bool) {
    let end = text.len().min(from + MAX_VALUE);
    (&text[from..end], end < from + MAX_VALUE)
}

/// What stands between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    /// `:`, which a type may follow, and which has other meanings, too.
    Colon,
    /// `=>`.
    Arrow,
    /// `=`.
    Equals,
    /// Escaped this many times more, in a URL inside another URL.
    InUrl(usize),
}

/// A value from `from`, behind a separator and the name that begins at `name`.
pub(super) fn assigned(text: &[u8], name: usize, from: usize, by: Separator) -> Extent {
    let (rest, _) = window(text, from);
    if let Separator::InUrl(level) = by
        && !rest.is_empty()
        && quote(rest).is_none()
    {
        return Extent::closed(from, in_url(rest, level));
    }
    let is_colon = by == Separator::Colon;
    // What looks like a type may be the value all the same, so both are redacted.
    if is_colon && let Some(length) = declared(rest) {
        return assigned(text, name, from + length, Separator::Equals).from(from);
    }
    let before = if by == Separator::Equals {
        0
    } else {
        annotation(rest)
    };
    let header = before + block_indicator(&rest[before..]);
    if let Some((line, length)) = LineEnd::at(&rest[header..]).filter(|_| !rest.is_empty()) {
        let (depth, is_first) = line.place(text, name);
        let lines = if is_first || header > 0 || !is_colon {
            ValueLines::Indented
        } else {
            ValueLines::Next
        };
        let below = below(text, from + header + length, depth, line, lines);
        return if header > 0 && !below.value.is_empty() {
            below.from(from)
        } else {
            below
        };
    }
    let mut own = if before > 0 {
        annotated(text, from)
    } else {
        enclosed(text, from)
    };
    if !is_colon {
        return own;
    }
    own = of_header(text, name, own);
    if own.is_open || quote(rest).is_some() || matches!(rest.first(), Some(b'[' | b'{' | b'(')) {
        return own;
    }
    if begins_line(&text[..name]) {
        own = phrase(text, own);
    }
    match LineEnd::at(&text[own.value.end..]) {
        Some((line, length)) => continued(text, name, own, line, length),
        None => own,
    }
}

/// Extends a bare value over the words behind it, as in YAML: up to the next field, a comment, or
/// what ends a value.
fn phrase(text: &[u8], own: Extent) -> Extent {
    let (rest, _) = window(text, own.value.end);
    let mut end = 0;
    loop {
        let gap = blanks(&rest[end..]);
        let word = &rest[end + gap..];
        let name = name(word);
        let sign = word.get(name + blanks(&word[name..]));
        let is_field = name > 0 && matches!(sign, Some(b':' | b'='));
        if gap == 0 || is_field || word.starts_with(b"#") {
            break;
        }
        match bare(word, false) {
            Some(Length { bytes: 0, .. }) | None => break,
            Some(length) => end += gap + length.bytes,
        }
    }
    Extent {
        value: own.value.start..own.value.end + end,
        ..own
    }
}

/// A value behind the annotations of YAML and PHP.
pub(super) fn annotated(text: &[u8], from: usize) -> Extent {
    enclosed(text, from + annotation(window(text, from).0)).from(from)
}

/// Bytes of the annotations that YAML and PHP put before a value: `!secret `, `&anchor `,
/// `string(7) `.
pub(super) fn annotation(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let word = count(&rest[..rest.len().min(MAX_NAME)], |byte| {
            !byte.is_ascii_whitespace() && !b"\"'`,;[]{}\\".contains(&byte)
        });
        let gap = blanks(&rest[word..]);
        let is_counted = (rest.starts_with(b"string(") || rest.starts_with(b"array("))
            && rest[..word].ends_with(b")");
        // The last parameter of a function is no annotation, and its body no value.
        let is_mark = matches!(rest.first(), Some(b'!' | b'&'))
            && quote(rest).is_none()
            && !rest[..word].contains(&b')');
        if gap == 0 || !is_counted && !is_mark {
            return at;
        }
        at += word + gap;
    }
}

/// A value on its own line: in quotes, in brackets, or a word.
pub(super) fn enclosed(text: &[u8], from: usize) -> Extent {
    let (rest, is_all) = window(text, from);
    let before = prefix(rest);
    let quoted = quote(&rest[before..]);
    let whole = match (quoted, rest.first()) {
        (_, None) => return Extent::awaited(from),
        (Some(length), _) => strings(&rest[before..], length, hashes(&rest[..before]))
            .map(|length| Length::fixed(before + length)),
        (None, Some(b'[' | b'{' | b'(')) => brackets(rest),
        (None, Some(_)) => bare(rest, true),
    };
    let (length, is_final) = match (whole, quoted) {
        (Some(length), _) => (length.bytes, length.is_final),
        // An unclosed string ends with its line.
        (None, Some(_)) => (count(rest, |byte| byte != b'\n'), false),
        (None, None) => (rest.len(), false),
    };
    Extent {
        value: from..from + length,
        is_open: !is_final && is_all,
    }
}

/// The value after the name of an option. Neither another option nor a placeholder of a help text
/// is one.
pub(super) fn argument(text: &[u8], from: usize) -> Extent {
    match text.get(from) {
        None | Some(b'-' | b'<' | b'[' | b'|' | b'=') => Extent::none(from),
        Some(byte) if byte.is_ascii_whitespace() => Extent::none(from),
        Some(_) => enclosed(text, from),
    }
}
