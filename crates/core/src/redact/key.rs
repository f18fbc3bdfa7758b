//! The lines of a private key after its first: base64, in lines or in words, and what the key says about itself. Prose that only speaks of a
//! key is no part of one, and one that was cut off is still a key.
//!
//! Whatever shows a file may write something before and after each line: a number, a path, a time, a sign of a comment or of a change, quotes.

use super::shape::{More, Swallowed, find};
use std::ops::Range;

pub(super) const DASHES: &[u8] = b"-----";
const END: &[u8] = b"-----END ";
/// Bytes in which the last line has to end.
const END_LINE: usize = 64;
/// Bytes of base64 that no word of prose has.
const LONG: usize = 24;
/// Bytes between two words of a key: blank lines, and how far the next one is indented.
const MOST_GAP: usize = 256;
/// Bytes of a line in which a key says something about itself.
const MOST_ABOUT: usize = 256;
/// Bytes that may stand before the base64 of a line, or after it.
const MOST_AROUND: usize = 128;
/// Bytes of base64 that are a line of a key whatever they are: its writers wrap at 64 or more.
const WRAPPED: usize = 56;
/// Bytes that tell whether lines with something around them go on. Nothing is decided before they have come.
const DECIDES: usize = 1 << 10;
/// How such lines begin, by RFC 1421 and by OpenPGP.
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

/// What is known of a key so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lines {
    /// Bytes of the word that came last, of which more may come. What follows a long one may be the short last one.
    word: usize,
    /// Whether a long word has come: there is a key, and not only its first line.
    has_body: bool,
    /// Whether the last line said something about the key.
    is_about: bool,
}

/// What a key goes on with.
enum Part {
    /// Something of its own, which ends here, and which is a word of so many bytes.
    Of(usize, usize),
    /// Its last line, which ends here.
    Last(usize),
    /// Something else.
    Other,
    /// It cannot be told before more has come.
    Undecided,
}

impl Lines {
    /// How much of the text from `from` belongs to the key, and what is known then.
    pub(super) fn swallow(mut self, text: &[u8], from: usize, more: More) -> (Swallowed, Self) {
        let mut end = from;
        loop {
            let (start, is_new_line) = after_gap(text, end);
            // What has come of a word is a part of the same word.
            let before = if start == end { self.word } else { 0 };
            let is_last = self.word >= LONG;
            let (start, found) = match part(&text[start..], before, is_last, is_new_line, more) {
                Part::Other => (end, self.around(&text[end..], more)),
                found => (start, found),
            };
            match found {
                Part::Of(length, word) => {
                    end = start + length;
                    self = Self {
                        word,
                        has_body: self.has_body || word >= LONG,
                        is_about: word == 0,
                    };
                }
                Part::Last(length) => return (Swallowed::Whole(start + length), self),
                Part::Undecided if more == More::MayCome && start - end <= MOST_GAP => {
                    return (Swallowed::Part(end), self);
                }
                Part::Undecided | Part::Other => return (Swallowed::Whole(end), self),
            }
        }
    }
}

/// A line of a key that has something around it.
enum Line {
    /// A long word ends here, and has so many bytes.
    Word(usize, usize),
    /// It says something about the key.
    About,
    /// The last line of the key ends here.
    Last(usize),
    /// Signs alone, as between two texts of a source.
    Signs,
    Other,
}

impl Lines {
    /// What a key goes on with after the rest of a line and with something before the next: all of it is a part of the key.
    fn around(self, rest: &[u8], more: More) -> Part {
        if more == More::MayCome && rest.len() < DECIDES {
            return Part::Undecided;
        }
        let view = &rest[..rest.len().min(DECIDES)];
        let (mut at, mut has_other) = (0, false);
        while at <= 2 * MOST_GAP {
            let (length, next) = line(&view[at..]);
            match kind(&view[at..], length, at == 0) {
                Line::Word(end, word) if !has_other || self.is_about => {
                    return Part::Of(at + end, word);
                }
                Line::Last(end) if self.has_body => return Part::Last(at + end),
                Line::About if !self.has_body => return Part::Of(at + length, 0),
                _ if length > MOST_AROUND + LONG => return Part::Other,
                Line::Signs => {}
                Line::Other if at == 0 => {}
                // The short last line of the key, or the empty one before its first.
                Line::Other if !has_other && (self.has_body || self.is_about) => has_other = true,
                _ => return Part::Other,
            }
            let Some(next) = next else { return Part::Other };
            at += next;
        }
        Part::Other
    }
}

/// What the line is that a text begins with, or the rest of one.
fn kind(text: &[u8], length: usize, is_rest: bool) -> Line {
    let line = &text[..length];
    if let Some(end) = near(line, END) {
        return match last_line(&text[end..]) {
            Part::Last(length) => Line::Last(end + length),
            _ => Line::Other,
        };
    }
    if let Some(word) = long_word(line).filter(|word| !is_rest || goes_on(&line[..word.start])) {
        return Line::Word(word.end, word.len());
    }
    if !is_rest && ABOUT.iter().any(|name| names(line, name)) {
        return Line::About;
    }
    if line.iter().any(u8::is_ascii_alphanumeric) {
        Line::Other
    } else {
        Line::Signs
    }
}

/// Whether the rest of a line that begins like this is more of the key: the next word of a text is not.
fn goes_on(before: &[u8]) -> bool {
    !before.iter().any(u8::is_ascii_alphanumeric)
        || !before.first().is_some_and(u8::is_ascii_whitespace)
}

/// Whether a line says this about the key.
fn names(line: &[u8], name: &[u8]) -> bool {
    // A short name is in every text by chance.
    let found = near(line, name).filter(|_| name.len() > 2);
    found.is_some_and(|at| !line[..at].last().is_some_and(u8::is_ascii_alphanumeric))
}

/// Where this stands in a line, if not too much stands before it.
fn near(line: &[u8], wanted: &[u8]) -> Option<usize> {
    find(&line[..line.len().min(MOST_AROUND + wanted.len())], wanted)
}

/// The last long word of base64 in a line: those before it may be parts of a path.
fn long_word(line: &[u8]) -> Option<Range<usize>> {
    let (mut at, mut found) = (0, None);
    while at <= MOST_AROUND && at < line.len() {
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

/// How long the line is that a text begins with, and where the next one begins. It may end as in JSON.
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

/// What stands at the start of `rest`, after a word of `before` bytes that it may be the rest of.
fn part(rest: &[u8], before: usize, is_last: bool, is_new_line: bool, more: More) -> Part {
    if rest.is_empty() {
        return Part::Undecided;
    }
    if begins(rest, END) {
        return last_line(rest);
    }
    let is_about =
        |name: &&&[u8]| begins(rest, name) && (rest.len() >= name.len() || more == More::MayCome);
    if is_new_line && let Some(name) = ABOUT.iter().find(is_about) {
        return about(rest, name, more);
    }
    let length = word(rest);
    let next = rest.get(length);
    let whole = before + length;
    // An escape that has not come may be the end of the line.
    let escape = &rest[length..];
    let is_open = more == More::MayCome
        && escape.len() <= MOST_GAP
        && escape.iter().all(|byte| *byte == b'\\');
    if whole >= LONG && length > 0 {
        return Part::Of(length, whole);
    }
    if is_open {
        return Part::Undecided;
    }
    // Dashes begin the last line; one alone is a part of what stands before a line.
    let dashes = &rest[length..];
    if length > 0 && next == Some(&b'-') {
        match (begins(dashes, DASHES), dashes.len() < DASHES.len()) {
            (true, true) if more == More::MayCome => return Part::Undecided,
            (true, false) => {}
            _ => return Part::Other,
        }
    }
    let is_whole = next.is_none_or(|next| b" \t\r\n\\\"'-<".contains(next));
    // A short word is a line of its own, or the last one after others.
    let fits = if is_new_line {
        !matches!(next, Some(b' ' | b'\t'))
    } else {
        is_last
    };
    if length > 0 && is_whole && fits {
        Part::Of(length, whole)
    } else {
        Part::Other
    }
}

/// Whether a text begins like this, as far as it goes.
fn begins(text: &[u8], with: &[u8]) -> bool {
    let common = text.len().min(with.len());
    text[..common] == with[..common]
}

fn last_line(rest: &[u8]) -> Part {
    let line = &rest[..rest.len().min(END_LINE)];
    match line.get(END.len()..).and_then(|label| find(label, DASHES)) {
        Some(dashes) => Part::Last(END.len() + dashes + DASHES.len()),
        None if line.len() < END_LINE => Part::Undecided,
        None => Part::Other,
    }
}

/// A line about the key, to its end.
fn about(rest: &[u8], name: &[u8], more: More) -> Part {
    if rest.len() < name.len() {
        return Part::Undecided;
    }
    let line = &rest[..rest.len().min(MOST_ABOUT)];
    match line.iter().position(|byte| b"\r\n\\\"".contains(byte)) {
        Some(end) => Part::Of(end, 0),
        None if line.len() < MOST_ABOUT && more == More::MayCome => Part::Undecided,
        None => Part::Of(line.len(), 0),
    }
}

/// Bytes of base64, also where its slashes are escaped.
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

/// Where what is between two words ends, and whether a line ends in it. Lines may end as they do in JSON, in JSON of JSON and so on.
fn after_gap(text: &[u8], from: usize) -> (usize, bool) {
    let (mut at, mut is_new_line) = (from, false);
    while at < text.len() && at - from <= MOST_GAP {
        let backslashes = text[at..]
            .iter()
            .take(MOST_GAP)
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
