//! The lines of a private key after its first: base64, in lines or in words, and what the key says about itself. Prose that only speaks of a
//! key is no part of one, and one that was cut off is still a key.

use super::shape::{More, Swallowed, find};

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
            match part(&text[start..], before, is_last, is_new_line, more) {
                Part::Of(length, word) => (end, self.word) = (start + length, word),
                Part::Last(length) => return (Swallowed::Whole(start + length), self),
                Part::Undecided if more == More::MayCome && start - end <= MOST_GAP => return (Swallowed::Part(end), self),
                Part::Undecided | Part::Other => return (Swallowed::Whole(end), self),
            }
        }
    }
}

/// What stands at the start of `rest`, after a word of `before` bytes that it may be the rest of.
fn part(rest: &[u8], before: usize, is_last: bool, is_new_line: bool, more: More) -> Part {
    if rest.is_empty() {
        return Part::Undecided;
    }
    if begins(rest, END) {
        return last_line(rest);
    }
    let is_about = |name: &&&[u8]| begins(rest, name) && (rest.len() >= name.len() || more == More::MayCome);
    if is_new_line && let Some(name) = ABOUT.iter().find(is_about) {
        return about(rest, name, more);
    }
    let length = word(rest);
    let next = rest.get(length);
    let whole = before + length;
    // An escape that has not come may be the end of the line.
    let escape = &rest[length..];
    let is_open = more == More::MayCome && escape.len() <= MOST_GAP && escape.iter().all(|byte| *byte == b'\\');
    if whole >= LONG && length > 0 {
        return Part::Of(length, whole);
    }
    if is_open {
        return Part::Undecided;
    }
    let is_whole = next.is_none_or(|next| b" \t\r\n\\\"'-<".contains(next));
    // A short word is a line of its own, or the last one after others.
    let fits = if is_new_line { !matches!(next, Some(b' ' | b'\t')) } else { is_last };
    if length > 0 && is_whole && fits { Part::Of(length, whole) } else { Part::Other }
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
        let is_escaped = *byte == b'\\' && text.get(at + 1).is_some_and(|next| b"/u".contains(next));
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
        let backslashes = text[at..].iter().take(MOST_GAP).take_while(|byte| **byte == b'\\').count();
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
