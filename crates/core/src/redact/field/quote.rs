//! Strings in quotes, in the ways that languages and formats write them.

use super::{MAX_LINE, count};
use memchr::memmem;

/// Backslashes before a quote: a text that was quoted six times has sixty-three.
pub(super) const MAX_BACKSLASHES: usize = 64;

pub(super) fn backslashes(text: &[u8]) -> usize {
    count(&text[..text.len().min(MAX_BACKSLASHES)], |byte| {
        byte == b'\\'
    })
}

/// Bytes of the quote that a text begins with.
pub(super) fn quote(text: &[u8]) -> Option<usize> {
    const ENTITIES: [&[u8]; 6] = [
        b"&quot;", b"&apos;", b"&#34;", b"&#39;", b"&#x22;", b"&#x27;",
    ];
    let backslashes = backslashes(text);
    let rest = &text[backslashes..];
    match rest.first()? {
        b'"' | b'\'' | b'`' => Some(backslashes + 1),
        b'u' if backslashes > 0 && (rest.starts_with(b"u0022") || rest.starts_with(b"u0027")) => {
            Some(backslashes + 5)
        }
        b'&' if backslashes == 0 => ENTITIES
            .iter()
            .find(|entity| text.starts_with(entity))
            .map(|entity| entity.len()),
        b'%' if backslashes == 0 => {
            let escaped = text[1..]
                .chunks(2)
                .take_while(|digits| *digits == b"25")
                .count();
            let end = 1 + 2 * escaped;
            matches!(text.get(end..end + 2), Some(b"22" | b"27")).then_some(end + 2)
        }
        _ => None,
    }
}

/// Bytes that languages put right before a quote: `b"`, `r#"`, `N'`, `@"`, `&"`.
pub(super) fn prefix(text: &[u8]) -> usize {
    let length = match text {
        // A Rust lifetime.
        [b'&', b'\'', ..] => 0,
        [b'@' | b'$' | b'&' | b'*', ..] => 1,
        _ => {
            let letters = count(&text[..text.len().min(2)], |byte| {
                b"bBcCfFrRuUELN".contains(&byte)
            });
            letters + hashes(&text[letters..])
        }
    };
    let is_prefix = quote(text).is_none()
        && text
            .get(length)
            .is_some_and(|byte| b"\"'`\\".contains(byte))
        && quote(&text[length..]).is_some();
    if is_prefix { length } else { 0 }
}

/// The hashes at the end of a prefix, which also follow the closing quote.
pub(super) fn hashes(text: &[u8]) -> usize {
    let letters = count(text, |byte| byte.is_ascii_alphabetic());
    let rest = &text[letters..];
    count(&rest[..rest.len().min(MAX_BACKSLASHES)], |byte| {
        byte == b'#'
    })
}

/// The length of a string with an opening quote of `quote` bytes, including the closing quote and
/// `hashes` hashes after it. `None` if it is not closed.
pub(super) fn string(text: &[u8], quote: usize, hashes: usize) -> Option<usize> {
    let (opening, rest) = text.split_at(quote);
    let is_triple = rest.starts_with(opening) && rest[quote..].starts_with(opening);
    let (skipped, closing) = if is_triple {
        (2 * quote, opening.repeat(3))
    } else {
        (0, [opening, &b"#".repeat(hashes)].concat())
    };
    let rest = &rest[skipped..];
    let whole = |at: usize| skipped + quote + at + closing.len();
    if matches!(opening.first()?, b'%' | b'&') {
        let is_escaped = |at: usize| {
            rest[at.saturating_sub(2)..at].eq_ignore_ascii_case(b"5c")
                || rest[..at].ends_with(b"\\")
        };
        return memmem::find_iter(rest, &closing)
            .find(|at| !is_escaped(*at))
            .map(whole);
    }
    if is_triple || hashes > 0 {
        return memmem::find(rest, &closing).map(whole);
    }
    let escapes = count(opening, |byte| byte == b'\\');
    let last = &opening[escapes..];
    let mut run = 0;
    for (at, byte) in rest.iter().enumerate() {
        match byte {
            b'\\' => run += 1,
            // A quote inside the string has more backslashes, and a backslash at the end of the
            // string has some of its own.
            _ if run % (2 * escapes + 2) == escapes && rest[at..].starts_with(last) => {
                return Some(quote + at + last.len());
            }
            _ => run = 0,
        }
    }
    None
}

/// Like [`string`], with strings that follow at once: `'it''s'` in YAML and SQL, `"it""s"` in CSV,
/// `'it'\''s'` in a shell.
pub(super) fn strings(text: &[u8], quote: usize, hashes: usize) -> Option<usize> {
    let opening = &text[..quote];
    let mut at = string(text, quote, hashes)?;
    // Quotes within other quotes, each of them doubled.
    if at == 2 * quote && text.get(at).is_some_and(u8::is_ascii_alphanumeric) {
        let line = &text[at..text.len().min(at + MAX_LINE)];
        let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        return Some(
            memmem::find(line, &opening.repeat(2)).map_or(at, |length| at + length + 2 * quote),
        );
    }
    loop {
        let rest = &text[at..];
        let between = match opening {
            b"'" if rest.starts_with(b"\\''") => 2,
            _ if rest.starts_with(opening) => 0,
            _ => return Some(at),
        };
        at += between + string(&rest[between..], quote, 0)?;
    }
}
