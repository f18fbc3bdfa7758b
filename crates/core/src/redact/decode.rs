//! Decodes a text: removes the escapes of JSON and URLs, however often they were applied, and the
//! line ends of wrapped base64.
//!
//! The values that are searched for are decoded, too, so that a value matches however it was
//! written.

use super::token::Eof;
use std::ops::Range;

/// Bytes of a word that make its line a wrapped one. Base64 is wrapped at 64 or 76.
const WRAPPED: usize = 56;
/// Bytes of line ends and indentation that are removed in one place.
const MAX_GAP: usize = 256;
/// Backslashes of one escape: a text that was quoted four times has fifteen before a quote.
const MAX_BACKSLASHES: usize = 16;
/// The code of a backslash.
const BACKSLASH: u32 = 0x5C;
/// How often a URL may have been escaped.
const MAX_ROUNDS: usize = 4;

/// Which line ends are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// Those after a word as long as the lines of base64 usually are.
    #[default]
    AfterLongLines,
    /// Each one after a character of base64: lines may have any width. Ordinary lines are joined,
    /// too, so only base64 can be searched for in what remains.
    All,
}

/// Decodes a text that comes in pieces, and maps each byte back to the original.
#[derive(Default)]
pub(super) struct Decoder {
    ends: LineEnds,
    /// The decoded text.
    text: Vec<u8>,
    /// Where the decoded text comes from. Bytes without escapes are one segment.
    segments: Vec<Segment>,
    /// Where decoding goes on in the original.
    next: usize,
    /// Bytes of the last word.
    run: usize,
    /// Whether a line end was just removed, so that the indentation after it is removed, too.
    is_wrapped: bool,
    /// Bytes that were just removed.
    gap: usize,
}

/// Decoded bytes, and where they come from.
struct Segment {
    read: usize,
    written: usize,
    /// `None` if the bytes stand for themselves.
    escape: Option<Escape>,
}

/// An escape in the original.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Escape {
    length: usize,
    /// Whether it has backslashes, some of which may stand for themselves.
    by_backslash: bool,
}

/// The next element of a text.
enum Unit {
    /// Bytes that stand for themselves.
    Plain(usize),
    /// An escape, and what it stands for.
    Escape(DecodedChar, Escape),
    /// Bytes that stand for nothing.
    Unseen(usize),
    /// More input must come first.
    Undecided,
}

/// One character, or one byte.
#[derive(Clone, Copy)]
struct DecodedChar {
    bytes: [u8; 4],
    count: usize,
}

impl From<u8> for DecodedChar {
    fn from(byte: u8) -> Self {
        Self {
            bytes: [byte, 0, 0, 0],
            count: 1,
        }
    }
}

impl From<char> for DecodedChar {
    fn from(c: char) -> Self {
        let mut bytes = [0; 4];
        let count = c.encode_utf8(&mut bytes).len();
        Self { bytes, count }
    }
}

/// Decodes a whole text.
pub(super) fn decode(written: &[u8]) -> Vec<u8> {
    let mut decoder = Decoder::default();
    decoder.feed(written, Eof::Reached);
    decoder.text
}

impl Decoder {
    pub(super) fn new(ends: LineEnds) -> Self {
        Self {
            ends,
            ..Self::default()
        }
    }

    pub(super) fn line_ends(&self) -> LineEnds {
        self.ends
    }

    /// Decodes on. `written` is the original since the last [`Self::forget`].
    pub(super) fn feed(&mut self, written: &[u8], eof: Eof) {
        while self.next < written.len() {
            let rest = &written[self.next..];
            if self.is_wrapped && self.gap < MAX_GAP && matches!(rest.first(), Some(b' ' | b'\t')) {
                self.next += 1;
                self.gap += 1;
                continue;
            }
            let length = match unit(rest, eof) {
                Unit::Plain(length) => {
                    self.add(&rest[..length], None);
                    length
                }
                Unit::Escape(decoded, escape) => {
                    self.add(&decoded.bytes[..decoded.count], Some(escape));
                    escape.length
                }
                Unit::Unseen(length) => length,
                Unit::Undecided => return,
            };
            self.next += length;
        }
    }

    fn add(&mut self, bytes: &[u8], escape: Option<Escape>) {
        let is_wrapped = match self.ends {
            LineEnds::AfterLongLines => self.run >= WRAPPED,
            LineEnds::All => self.run > 0,
        };
        if let (true, [end @ (b'\n' | b'\r')]) = (is_wrapped && self.gap < MAX_GAP, bytes) {
            if *end == b'\n' {
                (self.run, self.is_wrapped) = (0, true);
            }
            self.gap += 1;
            return;
        }
        (self.is_wrapped, self.gap) = (false, 0);
        let goes_on = self.segments.last().is_some_and(|last| {
            last.escape.is_none()
                && escape.is_none()
                && last.written + (self.text.len() - last.read) == self.next
        });
        if !goes_on {
            self.segments.push(Segment {
                read: self.text.len(),
                written: self.next,
                escape,
            });
        }
        self.text.extend_from_slice(bytes);
        let word = bytes
            .iter()
            .rev()
            .take_while(|byte| is_base64(**byte))
            .count();
        self.run = if word == bytes.len() {
            self.run + word
        } else {
            word
        };
    }

    /// The decoded text.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The decoded text, if it differs from the original.
    pub(super) fn differs(&self) -> Option<&[u8]> {
        let as_written = match self.segments.as_slice() {
            [] => true,
            [one] => one.escape.is_none() && one.written + self.text.len() == self.next,
            _ => false,
        };
        (!as_written).then_some(&self.text)
    }

    /// The range in the original of a decoded range.
    pub(super) fn written(&self, read: Range<usize>) -> Range<usize> {
        let last = read.end.saturating_sub(1).max(read.start);
        self.place(read.start).start..self.place(last).end
    }

    /// The range in the original of a decoded byte; where decoding goes on for one that has not
    /// come.
    pub(super) fn place(&self, read: usize) -> Range<usize> {
        let after = self
            .segments
            .partition_point(|segment| segment.read <= read);
        match after.checked_sub(1).and_then(|at| self.segments.get(at)) {
            Some(segment) if read < self.text.len() => match segment.escape {
                Some(escape) => segment.written..segment.written + escape.length,
                None => {
                    let at = segment.written + (read - segment.read);
                    at..at + 1
                }
            },
            _ => self.next..self.next,
        }
    }

    /// Whether the original has a backslash at a decoded byte or before it, which the escape
    /// absorbed.
    pub(super) fn has_backslash(&self, read: usize) -> bool {
        let after = self
            .segments
            .partition_point(|segment| segment.read <= read);
        let segment = after.checked_sub(1).and_then(|at| self.segments.get(at));
        self.text.get(read) == Some(&b'\\')
            || read < self.text.len()
                && segment
                    .and_then(|segment| segment.escape)
                    .is_some_and(|escape| escape.by_backslash)
    }

    /// Forgets the original before `start`, which becomes its first byte.
    pub(super) fn forget(&mut self, start: usize) {
        let kept = self
            .segments
            .partition_point(|segment| segment.written < start);
        // A segment around `start` loses its first part. An escape is not divided.
        let cut = kept
            .checked_sub(1)
            .and_then(|at| self.segments.get(at))
            .filter(|segment| segment.escape.is_none());
        let end = self
            .segments
            .get(kept)
            .map_or(self.text.len(), |segment| segment.read);
        let read = cut.map_or(end, |segment| {
            (segment.read + (start - segment.written)).min(end)
        });
        let first = (read < end).then_some(Segment {
            read,
            written: start,
            escape: None,
        });
        self.segments.splice(..kept, first);
        self.text.drain(..read);
        for segment in &mut self.segments {
            segment.read -= read;
            segment.written -= start;
        }
        self.next = self.next.saturating_sub(start);
    }
}

/// Whether a text with this byte may differ when decoded.
pub(super) fn may_differ(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'\n' | b'\r')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/_-=".contains(&byte)
}

fn unit(text: &[u8], eof: Eof) -> Unit {
    let plain = text
        .iter()
        .position(|byte| may_differ(*byte))
        .unwrap_or(text.len());
    if plain > 0 {
        return Unit::Plain(plain);
    }
    match escape(text, eof) {
        Ok(unit) => unit,
        Err(Incomplete) if eof == Eof::NotYet => Unit::Undecided,
        // A backslash at the end stands for itself.
        Err(Incomplete) => {
            byte(text, eof).map_or(Unit::Plain(1), |(byte, length)| in_address(byte, length))
        }
    }
}

/// A byte that may be escaped as in a URL.
fn in_address(byte: u8, length: usize) -> Unit {
    if length == 1 {
        Unit::Plain(1)
    } else {
        Unit::Escape(
            byte.into(),
            Escape {
                length,
                by_backslash: false,
            },
        )
    }
}

fn by_backslash(decoded: impl Into<DecodedChar>, length: usize) -> Unit {
    Unit::Escape(
        decoded.into(),
        Escape {
            length,
            by_backslash: true,
        },
    )
}

/// The text ended within an escape.
struct Incomplete;

fn escape(text: &[u8], eof: Eof) -> Result<Unit, Incomplete> {
    let (first, length) = byte(text, eof)?;
    if first != b'\\' {
        return Ok(in_address(first, length));
    }
    let (mut at, mut count) = (0, 0);
    let (escaped, end) = loop {
        let (next, mut length) = byte(&text[at..], eof)?;
        if next != b'\\' {
            // A backslash may be written by its code, and escapes what follows all the same.
            let numbered = if next == b'u' {
                hex::<4>(&text[at + length..], eof)?
            } else {
                None
            };
            let Some((BACKSLASH, digits)) = numbered else {
                break (next, at + length);
            };
            length += digits;
        }
        (at, count) = (at + length, count + 1);
        if count > MAX_BACKSLASHES {
            return Ok(Unit::Unseen(length));
        }
    };
    let control = |byte: u8| Ok(by_backslash(byte, end));
    match escaped {
        b'n' => control(b'\n'),
        b'r' => control(b'\r'),
        b't' => control(b'\t'),
        b'b' => control(8),
        b'f' => control(12),
        b'x' => Ok(match hex::<2>(&text[end..], eof)? {
            Some((value, length)) => {
                by_backslash(u8::try_from(value).unwrap_or_default(), end + length)
            }
            None => by_backslash(escaped, end),
        }),
        b'u' => Ok(match hex::<4>(&text[end..], eof)? {
            Some((value, length)) => character(text, value, end + length, eof)?,
            None => by_backslash(escaped, end),
        }),
        other => Ok(by_backslash(other, end)),
    }
}

/// A UTF-16 code unit as a character, with the second surrogate that may follow at `end`.
fn character(text: &[u8], value: u32, end: usize, eof: Eof) -> Result<Unit, Incomplete> {
    let Some(c) = char::from_u32(value) else {
        let Some((second, after)) = second_half(text, end, eof)? else {
            return Ok(Unit::Unseen(end));
        };
        let pair = [value, second].map(|half| u16::try_from(half).unwrap_or_default());
        let c = char::decode_utf16(pair).next().and_then(Result::ok);
        return Ok(c.map_or(Unit::Unseen(end), |c| by_backslash(c, after)));
    };
    Ok(by_backslash(c, end))
}

fn second_half(text: &[u8], mut at: usize, eof: Eof) -> Result<Option<(u32, usize)>, Incomplete> {
    for _ in 0..=MAX_BACKSLASHES {
        let (next, length) = byte(&text[at..], eof)?;
        at += length;
        match next {
            b'\\' => {}
            b'u' => {
                return Ok(hex::<4>(&text[at..], eof)?.map(|(value, length)| (value, at + length)));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// A number of `DIGITS` hexadecimal digits, and the bytes it takes.
fn hex<const DIGITS: usize>(text: &[u8], eof: Eof) -> Result<Option<(u32, usize)>, Incomplete> {
    let (mut value, mut at) = (0, 0);
    for _ in 0..DIGITS {
        if at == text.len() && eof == Eof::Reached {
            return Ok(None);
        }
        let (digit, length) = byte(&text[at..], eof)?;
        let Some(digit) = char::from(digit).to_digit(16) else {
            return Ok(None);
        };
        (value, at) = (value * 16 + digit, at + length);
    }
    Ok(Some((value, at)))
}

/// The first byte without the escapes of a URL, and the bytes it takes.
fn byte(text: &[u8], eof: Eof) -> Result<(u8, usize), Incomplete> {
    unescaped(text, eof, MAX_ROUNDS)
}

/// The same with at most this many rounds of escapes. The digits of an escape may be escaped, too.
fn unescaped(text: &[u8], eof: Eof, rounds: usize) -> Result<(u8, usize), Incomplete> {
    let first = *text.first().ok_or(Incomplete)?;
    let (mut found, mut at) = (None, 1);
    for _ in 0..=rounds {
        // A decoded percent sign may begin another escape.
        if found.unwrap_or(first) != b'%' || rounds == 0 {
            break;
        }
        let (mut value, mut end) = (Some(0), at);
        for _ in 0..2 {
            let (digit, length) = match unescaped(&text[end..], eof, rounds - 1) {
                Ok(next) => next,
                Err(Incomplete) if eof == Eof::NotYet => return Err(Incomplete),
                Err(Incomplete) => (0, 0),
            };
            let digit = char::from(digit)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok());
            value = value.zip(digit).map(|(value, digit)| value * 16 + digit);
            end += length;
            if value.is_none() {
                break;
            }
        }
        let Some(value) = value else { break };
        (found, at) = (Some(value), end);
    }
    Ok(found.map_or((first, 1), |value| (value, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(written: &str) -> String {
        String::from_utf8_lossy(&decode(written.as_bytes())).into_owned()
    }

    #[test]
    fn escapes_are_read_however_often_they_were_applied() {
        for (written, expected) in [
            ("plain", "plain"),
            (r#"a\"b\\\"c\/d"#, "a\"b\"c/d"),
            (r"\u00e4\u00E4\\u00e4\ud83d\ude00\ud83dx", "äää😀x"),
            (r"\n\t\x41", "\n\tA"),
            ("%41%c3%A4%2541%25252541", "AäAA"),
            ("%25%34%31 %25%32%35%33%34", "A 4"),
            ("100% of %zz and %2", "100% of %zz and %2"),
            ("a%5Cnb", "a\nb"),
            (r"a\nb", "a\nb"),
            ("end\\", "end\\"),
            (r"a\u005cu00e4 \u005C\u005cnb", "aä \nb"),
            (r"\u005", "u005"),
            ("end%5C", "end\\"),
            ("%+1", "%+1"),
            (r"\u12", "u12"),
        ] {
            assert_eq!(text(written), expected, "{written}");
        }
        let line = "QUJD".repeat(19);
        for end in ["\n", "\r\n", r"\n", r"\r\n", "%0A"] {
            assert_eq!(
                text(&format!("{line}{end}{line}{end}QUJD")),
                format!("{line}{line}QUJD"),
                "{end}"
            );
        }
        assert_eq!(
            text(&format!("{line}\n    {line}\n \tQU JD")),
            format!("{line}{line}QU JD")
        );
        assert_eq!(text("short\n  lines"), "short\n  lines");
    }

    #[test]
    fn pieces_read_as_the_whole_does_and_every_byte_is_where_it_was_written() {
        let written = r#"x\u00e4\\\"%2541\ud83d\ude00y%c3%a4\\\\n plain %zz \x41\"#.as_bytes();
        let whole = decode(written);
        for size in 1..written.len() {
            for keep in 0..4 {
                let (mut reader, mut buffer, mut seen) =
                    (Decoder::default(), Vec::new(), Vec::new());
                for piece in written.chunks(size) {
                    buffer.extend_from_slice(piece);
                    reader.feed(&buffer, Eof::NotYet);
                    let start = reader.place(reader.text.len().saturating_sub(keep)).start;
                    let before = reader.text.clone();
                    reader.forget(start);
                    buffer.drain(..start);
                    seen.extend_from_slice(&before[..before.len() - reader.text.len()]);
                }
                reader.feed(&buffer, Eof::Reached);
                seen.extend_from_slice(&reader.text);
                assert_eq!(seen, whole, "{size} {keep}");
                for at in 0..reader.text.len() {
                    let place = reader.place(at);
                    assert!(
                        decode(&buffer[place.clone()]).contains(&reader.text[at]),
                        "{size} {at} {place:?}"
                    );
                }
            }
        }
    }
}
