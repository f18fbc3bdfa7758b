//! The lines of a private key after its first: base64, in lines or in words, and headers. Prose
//! about a key is not part of it, and a key that was cut off still is one.
//!
//! Programs that show a file may write something before and after each line: a number, a path, a
//! time, a mark of a comment or a diff, quotes.

use super::token::{Eof, TokenEnd, find};
use std::ops::Range;

pub(super) const DASHES: &[u8] = b"-----";
const END: &[u8] = b"-----END ";
/// Bytes in which the last line must end.
const END_LINE: usize = 64;
/// Bytes of base64 that no word of prose has.
const LONG: usize = 24;
/// Bytes between two words of a key: blank lines and indentation.
const MAX_GAP: usize = 256;
/// Bytes of a header line.
const MAX_ABOUT: usize = 256;
/// Bytes that may stand before or after the base64 of a line.
const MAX_AROUND: usize = 128;
/// A word of this many bytes of base64 is a line of a key. Keys are wrapped at 64 or more.
const WRAPPED: usize = 56;
/// Bytes that decide whether decorated lines go on. Nothing is decided before they have come.
const DECIDES: usize = 1 << 10;
/// How header lines begin, by RFC 1421 and OpenPGP.
const ABOUT: &[&[u8]] = &[
    b"Proc-Type:",
    b"DEK-Info:",
    b"Key-Info:",
    b"MIC-Info:",
    b"Content-Domain:",
    b"Originator-",
    b"Recipient-",
    b"X-",
    b"Version:",
    b"Comment:",
    b"Charset:",
    b"Hash:",
    b"MessageID:",
];

/// The state of a key so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct KeyLines {
    /// Bytes of the last word, which may go on. After a long one, a short one may be the last.
    word: usize,
    /// Whether a long word has come, so that there is a key and not only its first line.
    has_body: bool,
    /// Whether the last line was a header.
    is_about: bool,
}

/// The next part of a key.
enum KeyPart {
    /// A part that ends here, and its bytes of base64.
    Of(usize, usize),
    /// The last line, which ends here.
    Last(usize),
    /// Something else: the key has ended.
    Other,
    /// More input must come first.
    Undecided,
}

impl KeyLines {
    /// Whether there is a key and not only its first line.
    pub(super) fn has_body(self) -> bool {
        self.has_body
    }

    /// How much of the text from `from` belongs to the key, and its state after that.
    pub(super) fn swallow(mut self, text: &[u8], from: usize, eof: Eof) -> (TokenEnd, Self) {
        let mut end = from;
        loop {
            let (start, is_new_line) = after_gap(text, end);
            // Without a gap it goes on with the last word.
            let before = if start == end { self.word } else { 0 };
            let is_last = self.word >= LONG;
            let (start, found) = match part(&text[start..], before, is_last, is_new_line, eof) {
                KeyPart::Other => (end, self.around(&text[end..], eof)),
                found => (start, found),
            };
            match found {
                KeyPart::Of(length, word) => {
                    end = start + length;
                    self = Self {
                        word,
                        has_body: self.has_body || word >= LONG,
                        is_about: word == 0,
                    };
                }
                KeyPart::Last(length) => return (TokenEnd::At(start + length), self),
                KeyPart::Undecided if eof == Eof::NotYet && start - end <= MAX_GAP => {
                    return (TokenEnd::Beyond(end), self);
                }
                KeyPart::Undecided | KeyPart::Other => return (TokenEnd::At(end), self),
            }
        }
    }
}

/// A decorated line of a key.
enum LineKind {
    /// A long word that ends here, and its bytes.
    Word(usize, usize),
    /// A header.
    About,
    /// The last line, which ends here.
    Last(usize),
    /// Punctuation alone, as between two string literals.
    Signs,
    Other,
}

impl KeyLines {
    /// The next part of a key behind the rest of a line and a decoration, which are part of the
    /// key.
    fn around(self, rest: &[u8], eof: Eof) -> KeyPart {
        if eof == Eof::NotYet && rest.len() < DECIDES {
            return KeyPart::Undecided;
        }
        let view = &rest[..rest.len().min(DECIDES)];
        let (mut at, mut has_other) = (0, false);
        while at <= 2 * MAX_GAP {
            let (length, next) = line(&view[at..]);
            match kind(&view[at..], length, at == 0) {
                LineKind::Word(end, word) if !has_other || self.is_about => {
                    return KeyPart::Of(at + end, word);
                }
                LineKind::Last(end) if self.has_body => return KeyPart::Last(at + end),
                LineKind::About if !self.has_body => return KeyPart::Of(at + length, 0),
                _ if length > MAX_AROUND + LONG => return KeyPart::Other,
                LineKind::Signs => {}
                LineKind::Other if at == 0 => {}
                // The short last line of the key, or the empty one after its headers.
                LineKind::Other if !has_other && (self.has_body || self.is_about) => {
                    has_other = true
                }
                _ => return KeyPart::Other,
            }
            let Some(next) = next else {
                return KeyPart::Other;
            };
            at += next;
        }
        KeyPart::Other
    }
}

/// The kind of the line that a text begins with, which may be the rest of a line.
fn kind(text: &[u8], length: usize, is_rest: bool) -> LineKind {
    let line = &text[..length];
    if let Some(end) = near(line, END) {
        return match last_line(&text[end..]) {
            KeyPart::Last(length) => LineKind::Last(end + length),
            _ => LineKind::Other,
        };
    }
    if let Some(word) = long_word(line).filter(|word| !is_rest || goes_on(&line[..word.start])) {
        return LineKind::Word(word.end, word.len());
    }
    if !is_rest && ABOUT.iter().any(|name| names(line, name)) {
        return LineKind::About;
    }
    if line.iter().any(u8::is_ascii_alphanumeric) {
        LineKind::Other
    } else {
        LineKind::Signs
    }
}

/// Whether the rest of a line that begins like this belongs to the key. The next word of prose does
/// not.
fn goes_on(before: &[u8]) -> bool {
    !before.iter().any(u8::is_ascii_alphanumeric)
        || !before.first().is_some_and(u8::is_ascii_whitespace)
}

/// Whether a line has this header.
fn names(line: &[u8], name: &[u8]) -> bool {
    // A short name occurs in any text by chance.
    let found = near(line, name).filter(|_| name.len() > 2);
    found.is_some_and(|at| !line[..at].last().is_some_and(u8::is_ascii_alphanumeric))
}

/// Where `wanted` is in a line, if it is near its start.
fn near(line: &[u8], wanted: &[u8]) -> Option<usize> {
    find(&line[..line.len().min(MAX_AROUND + wanted.len())], wanted)
}

/// The last long word of base64 in a line. Those before it may be parts of a path.
fn long_word(line: &[u8]) -> Option<Range<usize>> {
    let (mut at, mut found) = (0, None);
    while at <= MAX_AROUND && at < line.len() {
        let length = word(&line[at..]);
        if is_long(&line[at..at + length]) {
            found = Some(at..at + length);
        }
        at += length.max(1);
    }
    found
}

/// Whether this is base64, and neither a name nor a number.
fn is_long(word: &[u8]) -> bool {
    let has = |class: fn(&u8) -> bool| word.iter().any(class);
    let is_mixed = || {
        has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(|byte| !byte.is_ascii_alphabetic())
    };
    word.len() >= WRAPPED || word.len() >= LONG && is_mixed()
}

/// The length of the first line, and where the next one begins. It may end as in JSON.
fn line(text: &[u8]) -> (usize, Option<usize>) {
    let mut backslashes = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' => return (at, Some(at + 1)),
            b'n' if backslashes > 0 => return (at - backslashes, Some(at + 1)),
            b'\\' => backslashes += 1,
            _ => backslashes = 0,
        }
    }
    (text.len(), None)
}

/// The next part at the start of `rest`, after `before` bytes of a word that it may continue.
fn part(rest: &[u8], before: usize, is_last: bool, is_new_line: bool, eof: Eof) -> KeyPart {
    if rest.is_empty() {
        return KeyPart::Undecided;
    }
    if begins(rest, END) {
        return last_line(rest);
    }
    let is_about =
        |name: &&&[u8]| begins(rest, name) && (rest.len() >= name.len() || eof == Eof::NotYet);
    if is_new_line && let Some(name) = ABOUT.iter().find(is_about) {
        return about(rest, name, eof);
    }
    let length = word(rest);
    let next = rest.get(length);
    let whole = before + length;
    // An unfinished escape may be the end of the line.
    let escape = &rest[length..];
    let is_open =
        eof == Eof::NotYet && escape.len() <= MAX_GAP && escape.iter().all(|byte| *byte == b'\\');
    if whole >= LONG && length > 0 {
        return KeyPart::Of(length, whole);
    }
    if is_open {
        return KeyPart::Undecided;
    }
    // Dashes begin the last line. A single dash is part of a decoration.
    let dashes = &rest[length..];
    if length > 0 && next == Some(&b'-') {
        match (begins(dashes, DASHES), dashes.len() < DASHES.len()) {
            (true, true) if eof == Eof::NotYet => return KeyPart::Undecided,
            (true, false) => {}
            _ => return KeyPart::Other,
        }
    }
    let is_whole = next.is_none_or(|next| b" \t\r\n\\\"'-<".contains(next));
    // A short word is a line of its own, or the last one.
    let fits = if is_new_line {
        !matches!(next, Some(b' ' | b'\t'))
    } else {
        is_last
    };
    if length > 0 && is_whole && fits {
        KeyPart::Of(length, whole)
    } else {
        KeyPart::Other
    }
}

/// Whether a text begins like this, as far as it goes.
fn begins(text: &[u8], with: &[u8]) -> bool {
    let common = text.len().min(with.len());
    text[..common] == with[..common]
}

fn last_line(rest: &[u8]) -> KeyPart {
    let line = &rest[..rest.len().min(END_LINE)];
    match line.get(END.len()..).and_then(|label| find(label, DASHES)) {
        Some(dashes) => KeyPart::Last(END.len() + dashes + DASHES.len()),
        None if line.len() < END_LINE => KeyPart::Undecided,
        None => KeyPart::Other,
    }
}

/// A header, up to the end of its line.
fn about(rest: &[u8], name: &[u8], eof: Eof) -> KeyPart {
    if rest.len() < name.len() {
        return KeyPart::Undecided;
    }
    let line = &rest[..rest.len().min(MAX_ABOUT)];
    match line.iter().position(|byte| b"\r\n\\\"".contains(byte)) {
        Some(end) => KeyPart::Of(end, 0),
        None if line.len() < MAX_ABOUT && eof == Eof::NotYet => KeyPart::Undecided,
        None => KeyPart::Of(line.len(), 0),
    }
}

/// Bytes of base64, also with escaped slashes.
fn word(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let is_escaped =
            *byte == b'\\' && text.get(at + 1).is_some_and(|next| b"/u".contains(next));
        if !is_escaped && !byte.is_ascii_alphanumeric() && !b"+/=".contains(byte) {
            break;
        }
        at += 1;
    }
    at
}

/// Where the gap between two words ends, and whether it contains a line end. Line ends may be
/// escaped as in JSON, any number of times.
fn after_gap(text: &[u8], from: usize) -> (usize, bool) {
    let (mut at, mut is_new_line) = (from, false);
    while at < text.len() && at - from <= MAX_GAP {
        let backslashes = text[at..]
            .iter()
            .take(MAX_GAP)
            .take_while(|byte| **byte == b'\\')
            .count();
        let length = match (backslashes, text.get(at + backslashes)) {
            (0, Some(b' ' | b'\t' | b'\r' | b'\n')) => 1,
            (1.., Some(b'n' | b'r' | b't')) => backslashes + 1,
            _ => break,
        };
        is_new_line |= text[at..at + length].ends_with(if backslashes > 0 { b"n" } else { b"\n" });
        at += length;
    }
    (at, is_new_line)
}
