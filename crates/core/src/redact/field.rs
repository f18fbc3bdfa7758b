//! Named fields in text: as JSON writes them, however often it was quoted, in addresses, settings, headers, programs, commands and tags.

use super::declared::declared;
use super::extent::{Assigned, Extent, MOST_LINE, assigned, enclosed, quote, word};
use super::tag::{end_of_tag, until_tag};
use regex::bytes::{Captures, Regex};
use std::ops::Range;

/// The pattern of a field's name and what stands between it and its value.
pub(super) fn head(name: &str) -> String {
    // What comes before may be the rest of an escape.
    let before = r"(?:^|(?P<tag>(?:<|&lt;|\\+u003C)(?:[A-Za-z0-9_.-]+:)?)|[^A-Za-z0-9_-]|%(?:25)*[0-9A-F]{2}|\\[nrt]|\\u[0-9A-F]{4})(?P<option>--?)?";
    let mark = r#"\\*(?:["'`]|u002[27])|%(?:25)*2[27]|&(?:quot|apos|#3[49]|#x2[27]);"#;
    let quote = format!("(?P<quote>{mark})?");
    let blank = r"(?:[ \t]|%(?:25)*20)";
    let index =
        format!(r"(?P<index>{blank}*(?:\]|%(?:25)*5D))?(?:\[[0-9]*\]|%(?:25)*5B[0-9]*%(?:25)*5D)*");
    // A sign may stand on the next line, and a text that ends before that says nothing yet.
    let space = format!(r"{blank}*(?:\r?\n[ \t]*)?");
    let escaped = format!(r"{blank}*%(?P<level>(?:25)*)3[AD]");
    // What has a name as its own value says in the next field what it is.
    let line = r"(?:\r?\n|(?:\\+r)?\\+n)[ \t]*";
    // As much of that as has come: its line may not have ended.
    let begun = r#"[ \t"'`\\%&;#A-Za-z0-9]{0,40}"#;
    let pair = format!(
        r"{blank}*,?{blank}*(?:(?:{line})?(?:{mark})?(?P<pair>value)(?:{mark})?{blank}*(?P<by>[:=])|(?P<next>(?:{line}{begun})?\z))"
    );
    let sign = format!(
        r"(?:{pair}|{space}(?:(?P<sign>[:=]{{1,3}}>?|,)|(?P<last>\z))|{escaped}|(?P<gap>[ \t]+)|(?P<end>>|&gt;|\\+u003E))"
    );
    format!(
        "(?i){before}(?P<name>{name}){quote}{index}{sign}{blank}*(?:(?:Bearer|Basic|Token){blank}+)?"
    )
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
        let quoted =
            || quote(value).and_then(|length| value.get(length..value.len().checked_sub(length)?));
        value == word.as_bytes() || quoted() == Some(word.as_bytes())
    }
}

/// The fields of a text, one after another.
pub(super) fn fields<'a>(head: &'a Regex, text: &'a [u8]) -> impl Iterator<Item = Field> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let found = head.captures_at(text, at)?;
            let (whole, name) = (found.get(0)?, found.name("name")?);
            // The end of the line before may be gone.
            let start = whole.start() + usize::from(text.get(whole.start()) == Some(&b'\n'));
            let quote = found.name("quote").map_or(0..0, |quote| quote.range());
            // A word without end is no name, and nobody waits for what comes after blanks without end.
            let is_long = name.len().max(whole.end() - name.end()) > MOST_LINE;
            let extent = sign(&found)
                .filter(|_| !is_long)
                .map(|sign| sign.extent(text, name.start(), whole.end()));
            match extent {
                Some(Extent { value, is_open }) if is_open || !value.is_empty() => {
                    at = value.end;
                    return Some(Field {
                        start,
                        value,
                        quote,
                        is_open,
                    });
                }
                // What looked like the sign of one field may be the start of another.
                _ => at = name.end(),
            }
            // A sign on the next line has its value there, and that line may not have ended.
            let after = &text[whole.end()..];
            let is_below = text[name.end()..whole.end()].contains(&b'\n');
            if is_below && !is_long && after.len() < MOST_LINE && !after.contains(&b'\n') {
                return Some(Field {
                    start,
                    value: whole.end()..whole.end(),
                    quote,
                    is_open: true,
                });
            }
        }
    })
}

/// How a value is put to its name.
enum Sign<'a> {
    /// `name: value`, `name=value`.
    Assigned(Assigned),
    /// `name == "value"`, where only a text in quotes is one.
    BeforeQuotes,
    /// `["--name", "value"]`, where another option is none, either.
    Listed,
    /// `--name value`.
    Apart,
    /// `name string = "value"`.
    Declared,
    /// `<name>value</name>`, and how a tag opens there.
    Tagged(&'a [u8]),
    /// The same with something else in the tag.
    Described(&'a [u8]),
    /// `name, value: value`, and where the second name begins.
    Paired(usize, Assigned),
    /// `name`, and then the text ends.
    Awaited,
}

/// The sign that was found; nothing where it is none, as in `name::other`.
fn sign<'a>(found: &Captures<'a>) -> Option<Sign<'a>> {
    let has = |name: &str| found.name(name).is_some();
    if has("last") || has("next") {
        return Some(Sign::Awaited);
    }
    if let (Some(pair), Some(by)) = (found.name("pair"), found.name("by")) {
        return Some(Sign::Paired(
            pair.start(),
            if by.as_bytes() == b":" {
                Assigned::Colon
            } else {
                Assigned::Equals
            },
        ));
    }
    if let Some(level) = found.name("level") {
        return Some(Sign::Assigned(Assigned::InAddress(level.len() / 2)));
    }
    let Some(sign) = found.name("sign") else {
        let tag = found.name("tag").map(|tag| opening(tag.as_bytes()));
        let is_long = found.name("option").is_some_and(|option| option.len() == 2);
        let sign = match (tag, has("end")) {
            (Some(tag), true) => Sign::Tagged(tag),
            (Some(tag), false) => Sign::Described(tag),
            (None, true) => return None,
            (None, false) if is_long => Sign::Apart,
            (None, false) => Sign::Declared,
        };
        return (!has("quote") && !has("index")).then_some(sign);
    };
    match sign.as_bytes() {
        b"," => (has("option") && has("quote")).then_some(Sign::Listed),
        b"==" | b"===" => Some(Sign::BeforeQuotes),
        // `[name]: address` is a link.
        b":" if has("index") => None,
        b":" => Some(Sign::Assigned(Assigned::Colon)),
        b"=>" => Some(Sign::Assigned(Assigned::Arrow)),
        b"=" | b":=" => Some(Sign::Assigned(Assigned::Equals)),
        _ => None,
    }
}

/// How a tag opens, without the name of a space before its own.
fn opening(tag: &[u8]) -> &[u8] {
    let length = match tag.first() {
        Some(b'<') => 1,
        Some(b'&') => b"&lt;".len(),
        _ => tag.iter().take_while(|byte| **byte == b'\\').count() + b"u003c".len(),
    };
    tag.get(..length).unwrap_or(tag)
}

impl Sign<'_> {
    /// How far a value goes that begins at `from`.
    fn extent(&self, text: &[u8], name: usize, from: usize) -> Extent {
        let quoted = |from: usize| quote(&text[from..]).filter(|_| from < text.len());
        match self {
            Self::Assigned(by) => assigned(text, name, from, *by),
            Self::Paired(name, by) => assigned(text, *name, from, *by),
            Self::BeforeQuotes if quoted(from).is_some() => enclosed(text, from),
            Self::Listed => match quoted(from) {
                Some(length) if text.get(from + length) != Some(&b'-') => enclosed(text, from),
                _ => Extent::none(from),
            },
            Self::Apart => word(text, from),
            Self::Declared => match declared(&text[from..]).map(|length| from + length) {
                Some(right) if quoted(right).is_some() => enclosed(text, right),
                _ => Extent::none(from),
            },
            Self::Tagged(opening) => until_tag(text, from, opening),
            Self::Described(opening) => end_of_tag(text, from, opening)
                .map_or(Extent::none(from), |from| until_tag(text, from, opening)),
            Self::Awaited => Extent::awaited(from),
            Self::BeforeQuotes => Extent::none(from),
        }
    }
}
