//! A text as its reader will see it: without the escapes of JSON and of addresses, however often they were put on, and without the line
//! ends of wrapped base64.
//!
//! What is taken away here is taken from the values that are looked for, too: a value reads the same however it was written.

use super::shape::More;
use std::ops::Range;

/// Bytes of a word before a line's end that make it a wrapped line: writers of base64 wrap at 64 or 76.
const WRAPPED: usize = 56;
/// Backslashes of one escape: a text that was quoted four times has fifteen before a quote.
const MOST_BACKSLASHES: usize = 16;
/// The number of a backslash.
const BACKSLASH: u32 = 0x5C;
/// How often an address may have been escaped.
const MOST_ROUNDS: usize = 4;

/// Reads a text that comes in pieces, and knows where each byte was written.
#[derive(Default)]
pub(super) struct Reader {
    /// What was read.
    text: Vec<u8>,
    /// Where it was written. What is written as it reads is one stretch.
    stretches: Vec<Stretch>,
    /// Where reading goes on in what is written.
    next: usize,
    /// Bytes of a word read last.
    run: usize,
    /// Whether a line was wrapped just now: how far the next one is indented says nothing.
    is_wrapped: bool,
}

/// Bytes that were read, and where they were written.
struct Stretch {
    read: usize,
    written: usize,
    /// The escape; nothing where bytes stand for themselves.
    escape: Option<Escape>,
}

/// How something is escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Escape {
    length: usize,
    /// Whether backslashes do it, of which some may stand for themselves.
    by_backslash: bool,
}

/// What stands at one place of a text.
enum Unit {
    /// Bytes that stand for themselves.
    Plain(usize),
    /// An escape, and what it stands for.
    Escape(Decoded, Escape),
    /// Bytes that a reader does not see.
    Unseen(usize),
    /// It cannot be told before more has come.
    Undecided,
}

/// One character, or one byte.
#[derive(Clone, Copy)]
struct Decoded {
    bytes: [u8; 4],
    count: usize,
}

impl From<u8> for Decoded {
    fn from(byte: u8) -> Self {
        Self {
            bytes: [byte, 0, 0, 0],
            count: 1,
        }
    }
}

impl From<char> for Decoded {
    fn from(c: char) -> Self {
        let mut bytes = [0; 4];
        let count = c.encode_utf8(&mut bytes).len();
        Self { bytes, count }
    }
}

/// What a whole text reads.
pub(super) fn read(written: &[u8]) -> Vec<u8> {
    let mut reader = Reader::default();
    reader.feed(written, More::Not);
    reader.text
}

impl Reader {
    /// Reads on: `written` is all that is known of the text, from where it was last forgotten.
    pub(super) fn feed(&mut self, written: &[u8], more: More) {
        while self.next < written.len() {
            let rest = &written[self.next..];
            if self.is_wrapped && matches!(rest.first(), Some(b' ' | b'\t')) {
                self.next += 1;
                continue;
            }
            let length = match unit(rest, more) {
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
        if let (true, [end @ (b'\n' | b'\r')]) = (self.run >= WRAPPED, bytes) {
            if *end == b'\n' {
                (self.run, self.is_wrapped) = (0, true);
            }
            return;
        }
        self.is_wrapped = false;
        let goes_on = self.stretches.last().is_some_and(|last| {
            last.escape.is_none()
                && escape.is_none()
                && last.written + (self.text.len() - last.read) == self.next
        });
        if !goes_on {
            self.stretches.push(Stretch {
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

    /// What was read.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// What was read, where it differs from what is written.
    pub(super) fn differs(&self) -> Option<&[u8]> {
        let as_written = match self.stretches.as_slice() {
            [] => true,
            [one] => one.escape.is_none() && one.written + self.text.len() == self.next,
            _ => false,
        };
        (!as_written).then_some(&self.text)
    }

    /// Where something that was read is written.
    pub(super) fn written(&self, read: Range<usize>) -> Range<usize> {
        let last = read.end.saturating_sub(1).max(read.start);
        self.place(read.start).start..self.place(last).end
    }

    /// Where a byte is written; where reading goes on for one that is still to come.
    pub(super) fn place(&self, read: usize) -> Range<usize> {
        let after = self
            .stretches
            .partition_point(|stretch| stretch.read <= read);
        match after.checked_sub(1).and_then(|at| self.stretches.get(at)) {
            Some(stretch) if read < self.text.len() => match stretch.escape {
                Some(escape) => stretch.written..stretch.written + escape.length,
                None => {
                    let at = stretch.written + (read - stretch.read);
                    at..at + 1
                }
            },
            _ => self.next..self.next,
        }
    }

    /// Whether a backslash is written where a byte was read, or before it: what it stands for was read without it.
    pub(super) fn has_backslash(&self, read: usize) -> bool {
        let after = self
            .stretches
            .partition_point(|stretch| stretch.read <= read);
        let stretch = after.checked_sub(1).and_then(|at| self.stretches.get(at));
        self.text.get(read) == Some(&b'\\')
            || read < self.text.len()
                && stretch
                    .and_then(|stretch| stretch.escape)
                    .is_some_and(|escape| escape.by_backslash)
    }

    /// Forgets what is written before `start`, which is where the text begins from now on.
    pub(super) fn forget(&mut self, start: usize) {
        let kept = self
            .stretches
            .partition_point(|stretch| stretch.written < start);
        // The stretch that goes on beyond it loses its first part; an escape is kept as a whole or not at all.
        let cut = kept
            .checked_sub(1)
            .and_then(|at| self.stretches.get(at))
            .filter(|stretch| stretch.escape.is_none());
        let end = self
            .stretches
            .get(kept)
            .map_or(self.text.len(), |stretch| stretch.read);
        let read = cut.map_or(end, |stretch| {
            (stretch.read + (start - stretch.written)).min(end)
        });
        let first = (read < end).then_some(Stretch {
            read,
            written: start,
            escape: None,
        });
        self.stretches.splice(..kept, first);
        self.text.drain(..read);
        for stretch in &mut self.stretches {
            stretch.read -= read;
            stretch.written -= start;
        }
        self.next = self.next.saturating_sub(start);
    }
}

/// Whether a text with this byte may read other than it is written.
pub(super) fn may_differ(byte: u8) -> bool {
    matches!(byte, b'%' | b'\\' | b'\n' | b'\r')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/_-=".contains(&byte)
}

fn unit(text: &[u8], more: More) -> Unit {
    let plain = text
        .iter()
        .position(|byte| may_differ(*byte))
        .unwrap_or(text.len());
    if plain > 0 {
        return Unit::Plain(plain);
    }
    match escape(text, more) {
        Ok(unit) => unit,
        Err(Ended) if more == More::MayCome => Unit::Undecided,
        // A backslash at the end stands for itself.
        Err(Ended) => {
            byte(text, more).map_or(Unit::Plain(1), |(byte, length)| in_address(byte, length))
        }
    }
}

/// A byte that may be escaped as in an address.
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

fn by_backslash(decoded: impl Into<Decoded>, length: usize) -> Unit {
    Unit::Escape(
        decoded.into(),
        Escape {
            length,
            by_backslash: true,
        },
    )
}

/// The text ended before it could be told what stands there.
struct Ended;

fn escape(text: &[u8], more: More) -> Result<Unit, Ended> {
    let (first, length) = byte(text, more)?;
    if first != b'\\' {
        return Ok(in_address(first, length));
    }
    let (mut at, mut count) = (0, 0);
    let (escaped, end) = loop {
        let (next, mut length) = byte(&text[at..], more)?;
        if next != b'\\' {
            // A backslash may be written by its number, and what follows it is escaped all the same.
            let numbered = if next == b'u' {
                hex::<4>(&text[at + length..], more)?
            } else {
                None
            };
            let Some((BACKSLASH, digits)) = numbered else {
                break (next, at + length);
            };
            length += digits;
        }
        (at, count) = (at + length, count + 1);
        if count > MOST_BACKSLASHES {
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
        b'x' => Ok(match hex::<2>(&text[end..], more)? {
            Some((value, length)) => {
                by_backslash(u8::try_from(value).unwrap_or_default(), end + length)
            }
            None => by_backslash(escaped, end),
        }),
        b'u' => Ok(match hex::<4>(&text[end..], more)? {
            Some((value, length)) => character(text, value, end + length, more)?,
            None => by_backslash(escaped, end),
        }),
        other => Ok(by_backslash(other, end)),
    }
}

/// The character of a number in UTF-16, with the second half that may follow at `end`.
fn character(text: &[u8], value: u32, end: usize, more: More) -> Result<Unit, Ended> {
    let Some(c) = char::from_u32(value) else {
        let Some((second, after)) = second_half(text, end, more)? else {
            return Ok(Unit::Unseen(end));
        };
        let pair = [value, second].map(|half| u16::try_from(half).unwrap_or_default());
        let c = char::decode_utf16(pair).next().and_then(Result::ok);
        return Ok(c.map_or(Unit::Unseen(end), |c| by_backslash(c, after)));
    };
    Ok(by_backslash(c, end))
}

fn second_half(text: &[u8], mut at: usize, more: More) -> Result<Option<(u32, usize)>, Ended> {
    for _ in 0..=MOST_BACKSLASHES {
        let (next, length) = byte(&text[at..], more)?;
        at += length;
        match next {
            b'\\' => {}
            b'u' => {
                return Ok(hex::<4>(&text[at..], more)?.map(|(value, length)| (value, at + length)));
            }
            _ => return Ok(None),
        }
    }
    Ok(None)
}

/// A number of so many digits, and the bytes it takes.
fn hex<const DIGITS: usize>(text: &[u8], more: More) -> Result<Option<(u32, usize)>, Ended> {
    let (mut value, mut at) = (0, 0);
    for _ in 0..DIGITS {
        if at == text.len() && more == More::Not {
            return Ok(None);
        }
        let (digit, length) = byte(&text[at..], more)?;
        let Some(digit) = char::from(digit).to_digit(16) else {
            return Ok(None);
        };
        (value, at) = (value * 16 + digit, at + length);
    }
    Ok(Some((value, at)))
}

/// The first byte without the escapes of an address, and the bytes it takes.
fn byte(text: &[u8], more: More) -> Result<(u8, usize), Ended> {
    unescaped(text, more, MOST_ROUNDS)
}

/// The same, where so many rounds of escapes may be around it. The digits of an escape may be escaped, too.
fn unescaped(text: &[u8], more: More, rounds: usize) -> Result<(u8, usize), Ended> {
    let first = *text.first().ok_or(Ended)?;
    let (mut found, mut at) = (None, 1);
    for _ in 0..=rounds {
        // What stands for a percent sign may be the start of another escape.
        if found.unwrap_or(first) != b'%' || rounds == 0 {
            break;
        }
        let (mut value, mut end) = (Some(0), at);
        for _ in 0..2 {
            let (digit, length) = match unescaped(&text[end..], more, rounds - 1) {
                Ok(next) => next,
                Err(Ended) if more == More::MayCome => return Err(Ended),
                Err(Ended) => (0, 0),
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
        String::from_utf8_lossy(&read(written.as_bytes())).into_owned()
    }

    #[test]
    fn escapes_are_read_however_often_they_were_put_on() {
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
        let whole = read(written);
        for size in 1..written.len() {
            for keep in 0..4 {
                let (mut reader, mut buffer, mut seen) =
                    (Reader::default(), Vec::new(), Vec::new());
                for piece in written.chunks(size) {
                    buffer.extend_from_slice(piece);
                    reader.feed(&buffer, More::MayCome);
                    let start = reader.place(reader.text.len().saturating_sub(keep)).start;
                    let before = reader.text.clone();
                    reader.forget(start);
                    buffer.drain(..start);
                    seen.extend_from_slice(&before[..before.len() - reader.text.len()]);
                }
                reader.feed(&buffer, More::Not);
                seen.extend_from_slice(&reader.text);
                assert_eq!(seen, whole, "{size} {keep}");
                for at in 0..reader.text.len() {
                    let place = reader.place(at);
                    assert!(
                        read(&buffer[place.clone()]).contains(&reader.text[at]),
                        "{size} {at} {place:?}"
                    );
                }
            }
        }
    }
}
