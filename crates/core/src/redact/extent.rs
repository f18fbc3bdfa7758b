//! How far the value of a field goes.

use super::declared::declared;
use super::header::of_header;
use std::ops::Range;

/// Bytes of one value that are looked at. What is longer is taken out up to here.
pub(super) const MOST_VALUE: usize = 64 << 10;
/// Backslashes before a quote: a text that was quoted six times has sixty-three.
const MOST_BACKSLASHES: usize = 64;
/// Kinds of quotes that nobody closes in one value. Each is looked for up to its end.
const MOST_OPEN: usize = 8;
/// Bytes of a line that are looked at around a value.
pub(super) const MOST_LINE: usize = 1 << 10;
/// Bytes of a name that are looked at, in or after a value.
const MOST_NAME: usize = 64;

/// Where a value is.
pub(super) struct Extent {
    /// With its quotes; empty where there is none, or none yet.
    pub(super) value: Range<usize>,
    /// Whether more of it may come.
    pub(super) is_open: bool,
}

impl Extent {
    /// No value.
    pub(super) fn none(at: usize) -> Self {
        Self {
            value: at..at,
            is_open: false,
        }
    }

    /// No value yet.
    pub(super) fn awaited(at: usize) -> Self {
        Self {
            value: at..at,
            is_open: true,
        }
    }

    fn closed(start: usize, length: usize) -> Self {
        Self {
            value: start..start + length,
            is_open: false,
        }
    }
}

/// The part of a text that is looked at, and whether that is all there is.
fn seen(text: &[u8], from: usize) -> (&[u8], bool) {
    let end = text.len().min(from + MOST_VALUE);
    (&text[from..end], end < from + MOST_VALUE)
}

/// The sign between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Assigned {
    /// `:`, after which a type may stand, and which has other meanings, too.
    Colon,
    /// `=>`.
    Arrow,
    /// `=`.
    Equals,
    /// In an address that is part of another one, with so many more escapes.
    InAddress(usize),
}

/// A value behind a sign that ends before `from`, of the name that begins at `name`.
pub(super) fn assigned(text: &[u8], name: usize, from: usize, by: Assigned) -> Extent {
    let (rest, _) = seen(text, from);
    if let Assigned::InAddress(level) = by
        && !rest.is_empty()
        && quote(rest).is_none()
    {
        return Extent::closed(from, in_address(rest, level));
    }
    // The type may be a value all the same, and goes with what is put to it.
    if by == Assigned::Colon
        && let Some(length) = declared(rest)
    {
        let right = assigned(text, name, from + length, Assigned::Equals);
        return Extent {
            value: from..right.value.end,
            ..right
        };
    }
    let before = if by == Assigned::Equals {
        0
    } else {
        annotation(rest)
    };
    let header = before + indicator(&rest[before..]);
    if let Some((line, length)) = Line::at(&rest[header..]).filter(|_| !rest.is_empty()) {
        let (depth, is_first) = line.place(text, name);
        let lines = if is_first || header > 0 || by != Assigned::Colon {
            Lines::Indented
        } else {
            Lines::Next
        };
        let below = below(text, from + header + length, depth, line, lines);
        let is_marked = header > 0 && !below.value.is_empty();
        return Extent {
            value: if is_marked {
                from..below.value.end
            } else {
                below.value
            },
            ..below
        };
    }
    let own = if before > 0 {
        annotated(text, from)
    } else {
        enclosed(text, from)
    };
    let own = if by == Assigned::Colon {
        of_header(text, name, own)
    } else {
        own
    };
    let is_plain = by == Assigned::Colon
        && !own.is_open
        && quote(rest).is_none()
        && !matches!(rest.first(), Some(b'[' | b'{' | b'('));
    let own = if is_plain && begins_line(&text[..name]) {
        phrase(text, own)
    } else {
        own
    };
    match Line::at(&text[own.value.end..]).filter(|_| is_plain) {
        Some((line, length)) => continued(text, name, own, line, length),
        None => own,
    }
}

/// Whether what comes before a name is the end of a line, or the quote of a text, which may hold lines.
fn begins_line(before: &[u8]) -> bool {
    let marks = before
        .iter()
        .rev()
        .take_while(|byte| b" \t+-".contains(byte))
        .count();
    let before = &before[..before.len() - marks];
    before.ends_with(b"\\n") || before.last().is_none_or(|byte| b"\n\"'`".contains(byte))
}

/// A value without quotes with the words behind it, as YAML has them: up to the next field, a comment, or what ends a value.
fn phrase(text: &[u8], own: Extent) -> Extent {
    let (rest, _) = seen(text, own.value.end);
    let mut end = 0;
    loop {
        let blanks = rest[end..]
            .iter()
            .take_while(|byte| b" \t".contains(byte))
            .count();
        let word = &rest[end + blanks..];
        let name = name(word);
        let sign = word[name..].iter().find(|byte| !b" \t".contains(byte));
        let is_field = name > 0 && matches!(sign, Some(b':' | b'='));
        if blanks == 0 || is_field || word.starts_with(b"#") {
            break;
        }
        match bare(word, false) {
            Some(Length {
                bytes: length @ 1..,
                ..
            }) => end += blanks + length,
            _ => break,
        }
    }
    Extent {
        value: own.value.start..own.value.end + end,
        ..own
    }
}

/// Bytes of the name that a text begins with.
pub(super) fn name(text: &[u8]) -> usize {
    text.iter()
        .take(MOST_NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte))
        .count()
}

/// A value without quotes that goes on in lines which are further indented, as YAML allows it.
fn continued(text: &[u8], name: usize, own: Extent, line: Line, length: usize) -> Extent {
    let (depth, is_first) = line.place(text, name);
    if !is_first {
        return own;
    }
    let from = own.value.end + length;
    let (rest, is_all) = seen(text, from);
    let end = line.end();
    let (mut at, mut last) = (0, own.value.end);
    while at < rest.len() {
        let length = memchr::memmem::find(&rest[at..], &end);
        let content = &rest[at..length.map_or(rest.len(), |length| at + length)];
        let own_depth = indented(content);
        let words = content[own_depth..].trim_ascii_end();
        let is_unfinished = length.is_none() && is_all;
        let is_field =
            words.ends_with(b":") && !is_unfinished || memchr::memmem::find(words, b": ").is_some();
        let is_item = content.trim_ascii_start().starts_with(b"-");
        if words.is_empty() && is_unfinished {
            break;
        }
        if own_depth <= depth || words.is_empty() || is_field || is_item {
            return Extent {
                value: own.value.start..last,
                is_open: false,
            };
        }
        last = from + at + own_depth + words.len();
        at = length.map_or(rest.len(), |length| at + length + end.len());
    }
    Extent {
        value: own.value.start..last,
        is_open: is_all,
    }
}

/// A value behind what YAML and PHP put before it.
fn annotated(text: &[u8], from: usize) -> Extent {
    let own = enclosed(text, from + annotation(seen(text, from).0));
    Extent {
        value: from..own.value.end,
        ..own
    }
}

/// Bytes of what YAML and PHP put before a value: `!secret `, `&anchor `, `string(7) `.
fn annotation(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let word = rest
            .iter()
            .take_while(|byte| !byte.is_ascii_whitespace() && !b"\"'`,;[]{}\\".contains(byte))
            .take(MOST_NAME)
            .count();
        let blanks = rest[word..]
            .iter()
            .take_while(|byte| b" \t".contains(byte))
            .count();
        let is_counted = [&b"string("[..], b"array("]
            .iter()
            .any(|kind| rest.starts_with(kind))
            && rest[..word].ends_with(b")");
        // The last parameter of a function is no mark, and its body no value.
        let is_mark = matches!(rest.first(), Some(b'!' | b'&'))
            && quote(rest).is_none()
            && !rest[..word].contains(&b')');
        if blanks == 0 || !is_counted && !is_mark {
            return at;
        }
        at += word + blanks;
    }
}

/// A value on its own line: in quotes, in brackets, or as far as a word goes.
pub(super) fn enclosed(text: &[u8], from: usize) -> Extent {
    let (rest, is_all) = seen(text, from);
    let before = prefix(rest);
    let quoted = quote(&rest[before..]);
    let whole = match (quoted, rest.first()) {
        (_, None) => return Extent::awaited(from),
        (Some(length), _) => strings(&rest[before..], length, hashes(&rest[..before]))
            .map(|length| Length::sure(before + length)),
        (None, Some(b'[' | b'{' | b'(')) => brackets(rest),
        (None, Some(_)) => bare(rest, true),
    };
    match (whole, quoted) {
        (Some(Length { bytes, is_sure }), _) => Extent {
            value: from..from + bytes,
            is_open: !is_sure && is_all,
        },
        // Nobody closes it: a text is one of its line, and of the rest it cannot be told.
        (None, Some(_)) => {
            let end = rest
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(rest.len());
            Extent {
                value: from..from + end,
                is_open: is_all,
            }
        }
        (None, None) => Extent {
            value: from..from + rest.len(),
            is_open: is_all,
        },
    }
}

/// A value that stands after an option's name. Another option is none, and neither is what help says of one.
pub(super) fn word(text: &[u8], from: usize) -> Extent {
    match text.get(from) {
        None | Some(b'-' | b'<' | b'[' | b'|' | b'=') => Extent::none(from),
        Some(byte) if byte.is_ascii_whitespace() => Extent::none(from),
        Some(_) => enclosed(text, from),
    }
}

/// How the lines of a text end: as they do, or with so many backslashes and a letter.
#[derive(Clone, Copy)]
struct Line {
    backslashes: usize,
}

impl Line {
    /// The line's end that a text begins with, and its bytes.
    fn at(text: &[u8]) -> Option<(Self, usize)> {
        let spaces = text
            .iter()
            .take_while(|byte| b" \t\r".contains(byte))
            .count();
        let rest = &text[spaces..];
        let backslashes = rest
            .iter()
            .take(MOST_BACKSLASHES)
            .take_while(|byte| **byte == b'\\')
            .count();
        let line = Self { backslashes };
        let before = if rest[backslashes..].starts_with(b"r") && backslashes > 0 {
            backslashes + 1
        } else {
            0
        };
        let end = line.end();
        rest[before..]
            .starts_with(&end)
            .then_some((line, spaces + before + end.len()))
    }

    fn end(self) -> Vec<u8> {
        let letter = if self.backslashes == 0 { b'\n' } else { b'n' };
        [b"\\".repeat(self.backslashes), vec![letter]].concat()
    }

    /// How far the line is indented in which a name begins, and whether it is the first word there.
    fn place(self, text: &[u8], name: usize) -> (usize, bool) {
        let before = &text[name.saturating_sub(MOST_VALUE)..name];
        let end = self.end();
        let start = memchr::memmem::rfind(before, &end).map_or(0, |at| at + end.len());
        // However the others end, what ends here is a line.
        let before = &before[start..];
        let before = memchr::memrchr(b'\n', before).map_or(before, |end| &before[end + 1..]);
        (
            indented(before),
            !before
                .iter()
                .any(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()),
        )
    }
}

/// Bytes before a line's first word: the marks of lists and of changed lines count as spaces do.
fn indented(line: &[u8]) -> usize {
    line.iter()
        .take_while(|byte| b" \t+-".contains(byte))
        .count()
}

/// Bytes of what YAML puts before a text of many lines.
fn indicator(text: &[u8]) -> usize {
    match text.first() {
        Some(b'|' | b'>') => {
            1 + text[1..]
                .iter()
                .take_while(|byte| b"+-0123456789".contains(byte))
                .count()
        }
        _ => 0,
    }
}

/// Which lines after a name may be its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Those that are further indented, or the next one.
    Indented,
    /// A text in quotes or in brackets, or a word on the next line. What is further indented is what a program does, as below `if not name:`.
    Next,
}

/// A value that stands in the lines after its name: those that are further indented, or one word on the next line.
fn below(text: &[u8], from: usize, depth: usize, line: Line, lines: Lines) -> Extent {
    let (rest, is_all) = seen(text, from);
    let end = line.end();
    let (mut at, mut value, mut is_next) = (0, None::<Range<usize>>, true);
    while at < rest.len() {
        let length = memchr::memmem::find(&rest[at..], &end);
        let content = &rest[at..length.map_or(rest.len(), |length| at + length)];
        let own_depth = indented(content);
        let words = content[own_depth..].trim_ascii_end();
        let (first, is_deeper) = (at + own_depth, own_depth > depth);
        if words.is_empty() {
            // A line of dashes ends a list.
            if length.is_some() && !content.trim_ascii().is_empty() {
                break;
            }
        } else if value.is_none() && (is_deeper || is_next) && opens(words) {
            return annotated(text, from + first);
        } else if is_deeper && lines == Lines::Indented {
            value = Some(value.map_or(first, |value| value.start)..first + words.len());
        } else if value.is_none() && is_next && !is_deeper && is_one_word(words) {
            return Extent {
                value: from + first..from + first + words.len(),
                is_open: length.is_none() && is_all,
            };
        } else if let Some(value) = value {
            return Extent::closed(from + value.start, value.len());
        } else {
            // A line that has not ended may still become one word, or a text in quotes.
            return Extent {
                is_open: length.is_none() && is_all,
                ..Extent::none(from)
            };
        }
        is_next = false;
        match length {
            Some(length) => at += length + end.len(),
            None => at = rest.len(),
        }
    }
    let is_open = at >= rest.len() && is_all;
    let value = value.unwrap_or(0..0);
    Extent {
        value: from + value.start..from + value.end,
        is_open,
    }
}

fn opens(words: &[u8]) -> bool {
    let words = &words[annotation(words)..];
    matches!(words, [b'[' | b'{', ..]) || quote(&words[prefix(words)..]).is_some()
}

fn is_one_word(words: &[u8]) -> bool {
    let is_part = |byte: &u8| !byte.is_ascii_whitespace() && !b":=".contains(byte);
    words.iter().all(is_part) && words.iter().any(u8::is_ascii_alphanumeric)
}

/// Bytes of the quote that a text begins with.
pub(super) fn quote(text: &[u8]) -> Option<usize> {
    const ENTITIES: [&[u8]; 6] = [
        b"&quot;", b"&apos;", b"&#34;", b"&#39;", b"&#x22;", b"&#x27;",
    ];
    let backslashes = text
        .iter()
        .take(MOST_BACKSLASHES)
        .take_while(|byte| **byte == b'\\')
        .count();
    match text.get(backslashes)? {
        b'"' | b'\'' | b'`' => Some(backslashes + 1),
        b'u' if backslashes > 0 && is_numbered_quote(&text[backslashes..]) => Some(backslashes + 5),
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

fn is_numbered_quote(text: &[u8]) -> bool {
    text.starts_with(b"u0022") || text.starts_with(b"u0027")
}

/// Bytes that languages put right before a quote: `b"`, `r#"`, `N'`, `@"`, `&"`.
fn prefix(text: &[u8]) -> usize {
    let length = match text {
        // A lifetime, and no text.
        [b'&', b'\'', ..] => 0,
        [b'@' | b'$' | b'&' | b'*', ..] => 1,
        _ => {
            let letters = text
                .iter()
                .take(2)
                .take_while(|byte| b"bBcCfFrRuUELN".contains(byte))
                .count();
            letters + hashes(&text[letters..])
        }
    };
    let is_one = quote(text).is_none()
        && text
            .get(length)
            .is_some_and(|byte| b"\"'`\\".contains(byte))
        && quote(&text[length..]).is_some();
    if is_one { length } else { 0 }
}

/// The hashes at the end of a prefix, which stand after the closing quote, too.
fn hashes(text: &[u8]) -> usize {
    text.iter()
        .skip_while(|byte| byte.is_ascii_alphabetic())
        .take(MOST_BACKSLASHES)
        .take_while(|byte| **byte == b'#')
        .count()
}

/// How long a text is whose opening quote has so many bytes, its closing one and so many hashes after it included.
fn string(text: &[u8], quote: usize, hashes: usize) -> Option<usize> {
    let (opening, rest) = text.split_at(quote);
    let is_threefold = rest.starts_with(opening) && rest[quote..].starts_with(opening);
    let (skipped, closing) = if is_threefold {
        (2 * quote, opening.repeat(3))
    } else {
        (0, [opening, &b"#".repeat(hashes)].concat())
    };
    let rest = &rest[skipped..];
    let whole = |at: usize| skipped + quote + at + closing.len();
    let last = match opening.first()? {
        b'%' | b'&' => {
            let is_escaped = |at: usize| {
                rest[at.saturating_sub(2)..at].eq_ignore_ascii_case(b"5c")
                    || rest[..at].ends_with(b"\\")
            };
            let mut at = memchr::memmem::find_iter(rest, &closing).filter(|at| !is_escaped(*at));
            return at.next().map(whole);
        }
        _ if is_threefold || hashes > 0 => return memchr::memmem::find(rest, &closing).map(whole),
        _ => opening
            .iter()
            .skip_while(|byte| **byte == b'\\')
            .copied()
            .collect::<Vec<u8>>(),
    };
    let escapes = quote - last.len();
    let (mut at, mut run) = (0, 0);
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => run += 1,
            // A quote that is part of the text has more backslashes, and a backslash at its end has some of its own.
            _ if run % (2 * escapes + 2) == escapes && rest[at..].starts_with(&last) => {
                return Some(quote + at + last.len());
            }
            _ => run = 0,
        }
        at += 1;
    }
    None
}

/// The same with what goes on right behind its end: `'it''s'` in YAML and SQL, `"it""s"` in tables, `'it'\''s'` in a shell.
fn strings(text: &[u8], quote: usize, hashes: usize) -> Option<usize> {
    let opening = &text[..quote];
    let mut at = string(text, quote, hashes)?;
    // Quotes within other quotes, each written twice.
    if at == 2 * quote && text.get(at).is_some_and(u8::is_ascii_alphanumeric) {
        let line = &text[at..text.len().min(at + MOST_LINE)];
        let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        return Some(
            memchr::memmem::find(line, &opening.repeat(2))
                .map_or(at, |length| at + length + 2 * quote),
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

/// How long a value is in what is there.
struct Length {
    bytes: usize,
    /// Whether that stays so, whatever comes. A quote that nobody has closed may still turn out to begin a text.
    is_sure: bool,
}

impl Length {
    fn sure(bytes: usize) -> Self {
        Self {
            bytes,
            is_sure: true,
        }
    }

    /// The same with so many bytes before it.
    fn after(self, bytes: usize) -> Self {
        Self {
            bytes: bytes + self.bytes,
            ..self
        }
    }
}

/// How long a list or an object is; nothing where nobody closes it, or where too much in it is left open to tell.
fn brackets(text: &[u8]) -> Option<Length> {
    let opening = *text.first()?;
    let closing = match opening {
        b'[' => b']',
        b'{' => b'}',
        _ => b')',
    };
    let (mut at, mut depth, mut open) = (0, 0_usize, Vec::new());
    while let Some(byte) = text.get(at) {
        match byte {
            b'\'' if is_apostrophe(text, at) => {}
            b'"' | b'\'' | b'\\' => {
                at += inner(&text[at..], &mut open);
                if open.len() > MOST_OPEN {
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
                is_sure: open.is_empty(),
            });
        }
    }
    None
}

/// Whether the quote at a place stands within a word, and the letters before it are no prefix of a text, as in `b'text'`.
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

/// How far the text goes that begins here, or only its backslashes or its quote: what nobody closes is no text.
/// A quote that was looked for once and does not come is not looked for again.
fn inner<'a>(text: &'a [u8], open: &mut Vec<&'a [u8]>) -> usize {
    let backslashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let alone = backslashes.max(1);
    let opening = quote(text)
        .and_then(|length| text.get(..length))
        .filter(|opening| !open.contains(opening));
    let Some(opening) = opening else { return alone };
    string(text, opening.len(), 0).unwrap_or_else(|| {
        open.push(opening);
        alone
    })
}

/// How long a value without quotes is: to the next space, or to what begins the next field or ends what this one stands in. Brackets in it are
/// closed in it, or letters. Nothing where they are left open.
fn bare(text: &[u8], mut closes: bool) -> Option<Length> {
    let (mut at, mut is_sure) = (0, true);
    while let Some(byte) = text.get(at) {
        let rest = &text[at..];
        let backslashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        at += match (quote(rest), byte) {
            (Some(length), _) if ends(&rest[length..]) => break,
            (Some(length), _) => length,
            (None, b'}' | b']') => break,
            (None, byte) if byte.is_ascii_whitespace() => break,
            (None, b',' | b';' | b'&') if separates(rest) => break,
            (None, b'\\')
                if matches!(
                    rest.get(backslashes),
                    None | Some(b'n' | b'r' | b't' | b'u')
                ) =>
            {
                break;
            }
            // A space that a shell takes for a letter.
            (None, b'\\') if rest.get(backslashes) == Some(&b' ') => backslashes + 1,
            (None, b'\\') => backslashes,
            (None, b'(' | b'{' | b'[') if closes => {
                let group = group(rest)?;
                closes = group.bytes > 1;
                is_sure &= group.is_sure;
                group.bytes
            }
            (None, _) => 1,
        };
    }
    // As Rust shows a value of a type with fields.
    let is_type = text.first().is_some_and(u8::is_ascii_uppercase)
        && text[..at].iter().all(u8::is_ascii_alphanumeric);
    match text[at..].strip_prefix(b" ") {
        Some(fields) if is_type && fields.starts_with(b"{") => {
            group(fields).map(|length| length.after(at + 1))
        }
        _ => Some(Length { bytes: at, is_sure }),
    }
}

/// How far brackets go inside of a word: to where they are closed on their line, or on a later one if the line ends in an open one. Others are
/// letters. Nothing where such brackets are left open.
fn group(text: &[u8]) -> Option<Length> {
    let line = &text[..memchr::memchr(b'\n', text)
        .unwrap_or(text.len())
        .min(MOST_LINE)];
    let closed = brackets(line).map(|length| Length::sure(length.bytes));
    let goes_on =
        line.len() < text.len() && matches!(line.trim_ascii_end().last(), Some(b'(' | b'{' | b'['));
    match closed {
        None if goes_on => brackets(text),
        None => Some(Length::sure(1)),
        closed => closed,
    }
}

/// Whether a quote ends the value before it, by what comes after the quote.
fn ends(after: &[u8]) -> bool {
    after
        .first()
        .is_none_or(|byte| byte.is_ascii_whitespace() || b",;:.)]}&<>\\".contains(byte))
        || quote(after).is_some()
}

/// Whether a value ends at the sign that a text begins with: what follows is nothing, or the name of another field.
fn separates(text: &[u8]) -> bool {
    let (sign, after) = (text[0], &text[1..]);
    let name = after
        .iter()
        .take(MOST_NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.%[]".contains(byte))
        .count();
    let is_named = name > 0
        && after
            .get(name)
            .is_some_and(|byte| *byte == b'=' || *byte == b':' && sign != b'&');
    is_named || ends(after)
}

/// How long a value without quotes is in an address that is part of another one: what ends it is escaped as the sign before it was.
fn in_address(text: &[u8], level: usize) -> usize {
    let plain = text
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || b",;&\"'{}[]\\".contains(byte))
        .unwrap_or(text.len());
    let text = &text[..plain];
    let escape = [b"%".to_vec(), b"25".repeat(level)].concat();
    let is_end = |at: usize, ends: &[&[u8]]| {
        let digits = text[at..]
            .strip_prefix(escape.as_slice())
            .and_then(|rest| rest.get(..2));
        digits.is_some_and(|digits| ends.iter().any(|end| digits.eq_ignore_ascii_case(end)))
    };
    let holds_more = is_end(0, &[b"5B", b"7B"]);
    let ends: &[&[u8]] = if holds_more {
        &[b"26"]
    } else {
        &[
            b"26", b"3B", b"2C", b"22", b"27", b"7D", b"5D", b"5C", b"20", b"09", b"0A", b"0D",
        ]
    };
    (0..plain)
        .filter(|at| text[*at] == b'%')
        .find(|at| is_end(*at, ends))
        .unwrap_or(plain)
}
