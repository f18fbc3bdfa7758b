//! Values in the lines below their name, and values that go on there.

use super::extent::{Extent, annotated, annotation, window};
use super::quote::{backslashes, prefix, quote};
use super::{MAX_VALUE, count};
use memchr::memmem;
use std::ops::Range;

/// How the lines of a text end: with a line feed, or with backslashes and a letter.
#[derive(Clone, Copy)]
pub(super) struct LineEnd {
    backslashes: usize,
}

impl LineEnd {
    /// The line end that a text begins with, and its bytes.
    pub(super) fn at(text: &[u8]) -> Option<(Self, usize)> {
        let spaces = count(text, |byte| b" \t\r".contains(&byte));
        let rest = &text[spaces..];
        let backslashes = backslashes(rest);
        let line = Self { backslashes };
        let before = if rest[backslashes..].starts_with(b"r") && backslashes > 0 {
            backslashes + 1
        } else {
            0
        };
        let end = line.bytes();
        rest[before..]
            .starts_with(&end)
            .then_some((line, spaces + before + end.len()))
    }

    fn bytes(self) -> Vec<u8> {
        let letter = if self.backslashes == 0 { b'\n' } else { b'n' };
        [b"\\".repeat(self.backslashes), vec![letter]].concat()
    }

    /// The indentation of the line in which a name begins, and whether the name is its first word.
    pub(super) fn place(self, text: &[u8], name: usize) -> (usize, bool) {
        let before = &text[name.saturating_sub(MAX_VALUE)..name];
        let end = self.bytes();
        let start = memmem::rfind(before, &end).map_or(0, |at| at + end.len());
        // A line feed ends a line whatever ends the others.
        let before = &before[start..];
        let before = memchr::memrchr(b'\n', before).map_or(before, |end| &before[end + 1..]);
        let is_first = !before
            .iter()
            .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
        (indentation(before), is_first)
    }

    /// The lines of a text: where each begins, its content, and whether it has ended.
    fn lines(self, text: &[u8]) -> impl Iterator<Item = (usize, &[u8], bool)> {
        let (end, mut at) = (self.bytes(), 0);
        std::iter::from_fn(move || {
            let start = at;
            let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
            let length = memmem::find(rest, &end);
            at += length.map_or(rest.len(), |length| length + end.len());
            Some((
                start,
                &rest[..length.unwrap_or(rest.len())],
                length.is_some(),
            ))
        })
    }
}

/// Bytes before the first word of a line. Marks of lists and diffs count as blanks.
fn indentation(line: &[u8]) -> usize {
    count(line, |byte| b" \t+-".contains(&byte))
}

/// Bytes of the mark that YAML puts before a block scalar.
pub(super) fn block_indicator(text: &[u8]) -> usize {
    match text.first() {
        Some(b'|' | b'>') => 1 + count(&text[1..], |byte| b"+-0123456789".contains(&byte)),
        _ => 0,
    }
}

/// Extends a bare value over the lines below that are indented further, as YAML allows it.
pub(super) fn continued(
    text: &[u8],
    name: usize,
    own: Extent,
    line: LineEnd,
    length: usize,
) -> Extent {
    let (depth, is_first) = line.place(text, name);
    if !is_first {
        return own;
    }
    let from = own.value.end + length;
    let (rest, is_all) = window(text, from);
    let mut last = own.value.end;
    let until = |last: usize, is_open: bool| Extent {
        value: own.value.start..last,
        is_open,
    };
    for (at, content, has_ended) in line.lines(rest) {
        let indentation = indentation(content);
        let words = content[indentation..].trim_ascii_end();
        let is_unfinished = !has_ended && is_all;
        let is_field =
            words.ends_with(b":") && !is_unfinished || memmem::find(words, b": ").is_some();
        let is_item = content.trim_ascii_start().starts_with(b"-");
        if words.is_empty() && is_unfinished {
            break;
        }
        if indentation <= depth || words.is_empty() || is_field || is_item {
            return until(last, false);
        }
        last = from + at + indentation + words.len();
    }
    until(last, is_all)
}

/// Which lines below a name may be its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueLines {
    /// Those that are indented further, or the next one.
    Indented,
    /// A string or brackets, or a word on the next line. Indented lines are code, as below
    /// `if not name:`.
    Next,
}

/// A value in the lines below its name: those that are indented further, or one word on the next.
pub(super) fn below(
    text: &[u8],
    from: usize,
    depth: usize,
    line: LineEnd,
    lines: ValueLines,
) -> Extent {
    let (rest, is_all) = window(text, from);
    let (mut value, mut is_next, mut is_open) = (None::<Range<usize>>, true, is_all);
    for (at, content, has_ended) in line.lines(rest) {
        let indentation = indentation(content);
        let words = content[indentation..].trim_ascii_end();
        let (first, is_deeper) = (at + indentation, indentation > depth);
        let is_unfinished = !has_ended && is_all;
        if words.is_empty() {
            // A line of dashes ends a list.
            if has_ended && !content.trim_ascii().is_empty() {
                is_open = false;
                break;
            }
        } else if value.is_none() && (is_deeper || is_next) && opens(words) {
            return annotated(text, from + first);
        } else if is_deeper && lines == ValueLines::Indented {
            value = Some(value.map_or(first, |value| value.start)..first + words.len());
        } else if value.is_none() && is_next && !is_deeper && is_one_word(words) {
            return Extent {
                value: from + first..from + first + words.len(),
                is_open: is_unfinished,
            };
        } else if let Some(value) = value {
            return Extent::closed(from + value.start, value.len());
        } else {
            // An unfinished line may still become one word, or a string.
            return Extent {
                is_open: is_unfinished,
                ..Extent::none(from)
            };
        }
        is_next = false;
    }
    let value = value.unwrap_or(0..0);
    Extent {
        value: from + value.start..from + value.end,
        is_open,
    }
}

/// Whether a line begins with a string or with brackets.
fn opens(words: &[u8]) -> bool {
    let words = &words[annotation(words)..];
    matches!(words, [b'[' | b'{', ..]) || quote(&words[prefix(words)..]).is_some()
}

fn is_one_word(words: &[u8]) -> bool {
    let is_part = |byte: &u8| !byte.is_ascii_whitespace() && !b":=".contains(byte);
    words.iter().all(is_part) && words.iter().any(u8::is_ascii_alphanumeric)
}

/// Whether a name after this text begins a line, or a string, which may hold lines.
pub(super) fn begins_line(before: &[u8]) -> bool {
    let marks = before
        .iter()
        .rev()
        .take_while(|byte| b" \t+-".contains(byte))
        .count();
    let before = &before[..before.len() - marks];
    before.ends_with(b"\\n") || before.last().is_none_or(|byte| b"\n\"'`".contains(byte))
}
