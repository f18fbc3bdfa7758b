//! Named fields in text, and how far their values go: as JSON writes them, however often it was quoted, in addresses, in settings and headers.

use regex::bytes::Regex;
use std::ops::Range;

/// Bytes of one value that are looked at. What is longer is taken out up to here.
const MOST_VALUE: usize = 64 << 10;
/// Backslashes before a quote: a text that was quoted six times has sixty-three.
const MOST_BACKSLASHES: usize = 64;
/// Kinds of quotes that nobody closes in one value. Each is looked for up to its end.
const MOST_OPEN: usize = 8;

/// The pattern of a field's name and what stands between it and its value.
pub(super) fn head(name: &str) -> String {
    // What comes before may be the rest of an escape.
    let before = r"(?:^|[^A-Za-z0-9_-]|%(?:25)*[0-9A-F]{2}|\\[nrt])";
    let space = r"(?:\s|%(?:25)*20)";
    let quote = r#"(?P<quote>\\*["']|%(?:25)*2[27])?"#;
    let between = r"(?:[:=]{1,3}>?|%(?P<level>(?:25)*)3[AD])";
    format!("(?i){before}{name}{quote}{space}*{between}{space}*(?:(?:Bearer|Basic|Token){space}+)?")
}

/// A field that was found in a text.
pub(super) struct Field {
    /// Where its name begins, or what comes before it.
    pub(super) start: usize,
    /// What it holds, with its quotes; empty where the text ends before it.
    pub(super) value: Range<usize>,
    /// The quotes around its name.
    quote: Range<usize>,
    /// Whether more of its value may come.
    pub(super) is_open: bool,
}

impl Field {
    /// A word in the quotes that the value has, or else in those of the name, so that JSON stays JSON.
    pub(super) fn quoted(&self, text: &[u8], word: &str) -> Vec<u8> {
        let value = &text[self.value.clone()];
        let quote = quote(value).map_or(&text[self.quote.clone()], |length| &value[..length]);
        [quote, word.as_bytes(), quote].concat()
    }

    /// Whether the value is this word already.
    pub(super) fn is(&self, text: &[u8], word: &str) -> bool {
        let value = &text[self.value.clone()];
        let quoted = || quote(value).and_then(|length| value.get(length..value.len().checked_sub(length)?));
        value == word.as_bytes() || quoted() == Some(word.as_bytes())
    }
}

/// The fields of a text, one after another.
pub(super) fn fields<'a>(head: &'a Regex, text: &'a [u8]) -> impl Iterator<Item = Field> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let found = head.captures_at(text, at)?;
            let whole = found.get(0)?;
            let level = found.name("level").map(|level| level.len() / 2);
            let quote = found.name("quote").map_or(0..0, |quote| quote.range());
            let (length, is_open) = value(&text[whole.end()..], level);
            at = whole.end() + length;
            if length > 0 || is_open {
                return Some(Field { start: whole.start(), value: whole.end()..at, quote, is_open });
            }
        }
    })
}

/// How long the value is that a text begins with, and whether more of it may come. In an address that is part of another one, it is written with so
/// many more escapes.
fn value(text: &[u8], level: Option<usize>) -> (usize, bool) {
    let seen = &text[..text.len().min(MOST_VALUE)];
    let is_all = seen.len() < MOST_VALUE;
    let whole = match (quote(seen), seen.first()) {
        (_, None) => return (0, true),
        (Some(length), _) => string(seen, length),
        (None, Some(b'[' | b'{')) => brackets(seen),
        (None, Some(_)) => return (bare(seen, level), false),
    };
    match (whole, quote(seen)) {
        (Some(length), _) => (length, false),
        // Nobody closes it: a text is one of its line, and of the rest it cannot be told.
        (None, Some(_)) => (seen.iter().position(|byte| *byte == b'\n').unwrap_or(seen.len()), is_all),
        (None, None) => (seen.len(), is_all),
    }
}

/// Bytes of the quote that a text begins with.
fn quote(text: &[u8]) -> Option<usize> {
    let backslashes = text.iter().take(MOST_BACKSLASHES).take_while(|byte| **byte == b'\\').count();
    match text.get(backslashes)? {
        b'"' | b'\'' => Some(backslashes + 1),
        b'%' if backslashes == 0 => {
            let escaped = text[1..].chunks(2).take_while(|digits| *digits == b"25").count();
            let end = 1 + 2 * escaped;
            matches!(text.get(end..end + 2), Some(b"22" | b"27")).then_some(end + 2)
        }
        _ => None,
    }
}

/// How long a text is whose opening quote has so many bytes, its closing one included.
fn string(text: &[u8], quote: usize) -> Option<usize> {
    let (opening, rest) = text.split_at(quote);
    let last = *opening.last()?;
    if opening.first() == Some(&b'%') {
        let closes = |at: &usize| rest[*at..].starts_with(opening) && !rest[at.saturating_sub(2)..*at].eq_ignore_ascii_case(b"5c");
        return (0..rest.len()).filter(|at| rest[*at] == b'%').find(closes).map(|at| at + 2 * quote);
    }
    let escapes = quote - 1;
    let mut run = 0;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'\\' => run += 1,
            // A quote that is part of the text has more backslashes, and a backslash at its end has some of its own.
            byte if *byte == last && run % (2 * escapes + 2) == escapes => return Some(quote + at + 1),
            _ => run = 0,
        }
    }
    None
}

/// How long a list or an object is; nothing where nobody closes it, or where too much in it is left open to tell.
fn brackets(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth, mut open) = (0, 0_usize, Vec::new());
    while let Some(byte) = text.get(at) {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b'"' | b'\'' | b'\\' => {
                at += inner(&text[at..], &mut open);
                if open.len() > MOST_OPEN {
                    return None;
                }
                continue;
            }
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// How far the text goes that begins here, or only its backslashes or its quote: what nobody closes is no text, as an apostrophe is not.
/// A quote that was looked for once and does not come is not looked for again.
fn inner<'a>(text: &'a [u8], open: &mut Vec<&'a [u8]>) -> usize {
    let backslashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let alone = backslashes.max(1);
    let opening = quote(text).and_then(|length| text.get(..length)).filter(|opening| !open.contains(opening));
    let Some(opening) = opening else { return alone };
    string(text, opening.len()).unwrap_or_else(|| {
        open.push(opening);
        alone
    })
}

/// How long a value without quotes is.
fn bare(text: &[u8], level: Option<usize>) -> usize {
    let plain = text.iter().position(|byte| byte.is_ascii_whitespace() || b",;&\"'{}[]\\".contains(byte)).unwrap_or(text.len());
    let text = &text[..plain];
    let Some(level) = level else { return plain };
    // In an address that is part of another one, what ends a value is escaped as the sign before it was.
    let escape = [b"%".to_vec(), b"25".repeat(level)].concat();
    let is_end = |at: usize, ends: &[&[u8]]| {
        let digits = text[at..].strip_prefix(escape.as_slice()).and_then(|rest| rest.get(..2));
        digits.is_some_and(|digits| ends.iter().any(|end| digits.eq_ignore_ascii_case(end)))
    };
    let holds_more = is_end(0, &[b"5B", b"7B"]);
    let ends: &[&[u8]] =
        if holds_more { &[b"26"] } else { &[b"26", b"3B", b"2C", b"22", b"27", b"7D", b"5D", b"5C", b"20", b"09", b"0A", b"0D"] };
    (0..plain).filter(|at| text[*at] == b'%').find(|at| is_end(*at, ends)).unwrap_or(plain)
}
