//! Values without quotes: words, brackets, and parts of URLs.

use super::quote::{prefix, quote, string};
use super::{MAX_LINE, MAX_NAME, count};

/// Kinds of quotes in one value that may stay unclosed. Each is searched for once, to the end.
const MAX_UNCLOSED: usize = 8;

/// The length of a value in the text so far.
pub(super) struct Length {
    pub(super) bytes: usize,
    /// Whether it stays the same whatever comes next. An unclosed quote may still begin a string.
    pub(super) is_final: bool,
}

impl Length {
    pub(super) fn fixed(bytes: usize) -> Self {
        Self {
            bytes,
            is_final: true,
        }
    }
}

/// The length of a list or an object. `None` if it is not closed, or if too many quotes in it are
/// not.
pub(super) fn brackets(text: &[u8]) -> Option<Length> {
    let opening = *text.first()?;
    let closing = match opening {
        b'[' => b']',
        b'{' => b'}',
        _ => b')',
    };
    let (mut at, mut depth, mut unclosed) = (0, 0_usize, Vec::new());
    while let Some(byte) = text.get(at) {
        match byte {
            b'\'' if is_apostrophe(text, at) => {}
            b'"' | b'\'' | b'\\' => {
                at += inner_string(&text[at..], &mut unclosed);
                if unclosed.len() > MAX_UNCLOSED {
                    return None;
                }
                continue;
            }
            byte if *byte == opening => depth += 1,
            byte if *byte == closing => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(Length {
                bytes: at,
                is_final: unclosed.is_empty(),
            });
        }
    }
    None
}

/// Whether the quote at `at` is inside a word whose letters before it are no prefix as in
/// `b'text'`.
fn is_apostrophe(text: &[u8], at: usize) -> bool {
    let before = text[..at]
        .iter()
        .rev()
        .take(3)
        .take_while(|byte| byte.is_ascii_alphanumeric())
        .count();
    let is_within = before > 0 && text.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    is_within && prefix(&text[at - before..]) != before
}

/// The length of the string that begins here; of its quote or its backslashes alone if it is not
/// closed. A quote in `unclosed` is not searched for again.
fn inner_string<'a>(text: &'a [u8], unclosed: &mut Vec<&'a [u8]>) -> usize {
    let alone = count(text, |byte| byte == b'\\').max(1);
    let opening = quote(text)
        .and_then(|length| text.get(..length))
        .filter(|opening| !unclosed.contains(opening));
    let Some(opening) = opening else { return alone };
    string(text, opening.len(), 0).unwrap_or_else(|| {
        unclosed.push(opening);
        alone
    })
}

/// The length of a value without quotes: up to a blank, the next field, or the end of what
/// surrounds it. Brackets in it are closed in it, or count as letters. `None` if they stay open.
pub(super) fn bare(text: &[u8], mut has_groups: bool) -> Option<Length> {
    let (mut at, mut is_final) = (0, true);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let backslashes = count(rest, |byte| byte == b'\\');
        at += match (quote(rest), byte) {
            (Some(length), _) if ends(&rest[length..]) => break,
            (Some(length), _) => length,
            (None, b'}' | b']') => break,
            (None, byte) if byte.is_ascii_whitespace() => break,
            (None, b',' | b';' | b'&') if separates(rest) => break,
            (None, b'\\') => match rest.get(backslashes) {
                None | Some(b'n' | b'r' | b't' | b'u') => break,
                // A blank that is escaped for a shell.
                Some(b' ') => backslashes + 1,
                Some(_) => backslashes,
            },
            (None, b'(' | b'{' | b'[') if has_groups => {
                let group = group(rest)?;
                has_groups = group.bytes > 1;
                is_final &= group.is_final;
                group.bytes
            }
            (None, _) => 1,
        };
    }
    // Rust's debug output of a struct: `Name { … }`.
    let is_type = text.first().is_some_and(u8::is_ascii_uppercase)
        && text[..at].iter().all(u8::is_ascii_alphanumeric);
    match text[at..].strip_prefix(b" ") {
        Some(fields) if is_type && fields.starts_with(b"{") => group(fields).map(|length| Length {
            bytes: at + 1 + length.bytes,
            ..length
        }),
        _ => Some(Length {
            bytes: at,
            is_final,
        }),
    }
}

/// The length of brackets inside a word, which are closed on their line, or on a later one if the
/// line ends in an open bracket. Any other bracket is a letter. `None` if they stay open.
fn group(text: &[u8]) -> Option<Length> {
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let line = &text[..end.min(MAX_LINE)];
    let goes_on =
        line.len() < text.len() && matches!(line.trim_ascii_end().last(), Some(b'(' | b'{' | b'['));
    match brackets(line) {
        None if goes_on => brackets(text),
        closed => Some(Length::fixed(closed.map_or(1, |length| length.bytes))),
    }
}

/// Whether a quote ends the value before it, judged by the text after the quote.
fn ends(after: &[u8]) -> bool {
    after
        .first()
        .is_none_or(|byte| byte.is_ascii_whitespace() || b",;:.)]}&<>\\".contains(byte))
        || quote(after).is_some()
}

/// Whether the separator that a text begins with ends a value: nothing follows, or another field.
fn separates(text: &[u8]) -> bool {
    let (sign, after) = (text[0], &text[1..]);
    let name = count(&after[..after.len().min(MAX_NAME)], |byte| {
        byte.is_ascii_alphanumeric() || b"_-.%[]".contains(&byte)
    });
    let is_named = name > 0
        && after
            .get(name)
            .is_some_and(|byte| *byte == b'=' || *byte == b':' && sign != b'&');
    is_named || ends(after)
}

/// The length of a bare value in a URL inside another URL, where what ends it is escaped `level`
/// times more.
pub(super) fn in_url(text: &[u8], level: usize) -> usize {
    let plain = count(text, |byte| {
        !byte.is_ascii_whitespace() && !b",;&\"'{}[]\\".contains(&byte)
    });
    let text = &text[..plain];
    let escape = [b"%".to_vec(), b"25".repeat(level)].concat();
    let is_end = |at: usize, ends: &[&[u8]]| {
        let digits = text[at..]
            .strip_prefix(escape.as_slice())
            .and_then(|rest| rest.get(..2));
        digits.is_some_and(|digits| ends.iter().any(|end| digits.eq_ignore_ascii_case(end)))
    };
    let is_nested = is_end(0, &[b"5B", b"7B"]);
    let ends: &[&[u8]] = if is_nested {
        &[b"26"]
    } else {
        &[
            b"26", b"3B", b"2C", b"22", b"27", b"7D", b"5D", b"5C", b"20", b"09", b"0A", b"0D",
        ]
    };
    memchr::memchr_iter(b'%', text)
        .find(|at| is_end(*at, ends))
        .unwrap_or(plain)
}
