//! Named fields in free text: in JSON, however often it was quoted, in URLs, settings, headers,
//! programs, command lines and tags.

mod declared;
mod extent;
mod header;
mod lines;
mod quote;
mod tag;
mod word;

use declared::declared;
use extent::{Extent, Separator, argument, assigned, enclosed};
use quote::quote;
use regex::bytes::{Captures, Regex};
use std::ops::Range;
use tag::{end_of_tag, until_tag};

/// Bytes of one value that are searched. A longer one is redacted up to here.
const MAX_VALUE: usize = 64 << 10;
/// Bytes of a line that are searched around a value.
pub(super) const MAX_LINE: usize = 1 << 10;
/// Bytes of a name in or after a value.
const MAX_NAME: usize = 64;

/// How many bytes at the start of a text are of a kind.
fn count(text: &[u8], is_part: impl Fn(u8) -> bool) -> usize {
    text.iter()
        .position(|byte| !is_part(*byte))
        .unwrap_or(text.len())
}

fn blanks(text: &[u8]) -> usize {
    count(text, |byte| b" \t".contains(&byte))
}

/// Bytes of the name that a text begins with.
fn name(text: &[u8]) -> usize {
    count(&text[..text.len().min(MAX_NAME)], |byte| {
        byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
    })
}

/// The regular expression for the name of a field and what stands between it and its value.
pub(super) fn head(name: &str) -> String {
    // An escape may end right before the name.
    let before = r"(?:^|(?P<tag>(?:<|&lt;|\\+u003C)(?:[A-Za-z0-9_.-]+:)?)|[^A-Za-z0-9_-]|%(?:25)*[0-9A-F]{2}|\\[nrt]|\\u[0-9A-F]{4})(?P<option>--?)?";
    let mark = r#"\\*(?:["'`]|u002[27])|%(?:25)*2[27]|&(?:quot|apos|#3[49]|#x2[27]);"#;
    let quote = format!("(?P<quote>{mark})?");
    let blank = r"(?:[ \t]|%(?:25)*20)";
    let index =
        format!(r"(?P<index>{blank}*(?:\]|%(?:25)*5D))?(?:\[[0-9]*\]|%(?:25)*5B[0-9]*%(?:25)*5D)*");
    // The separator may be on the next line. A text that ends before it is undecided.
    let space = format!(r"{blank}*(?:\r?\n[ \t]*)?");
    let escaped = format!(r"{blank}*%(?P<level>(?:25)*)3[AD]");
    // `{"name": "password", "value": …}`: the next field holds the value.
    let line = r"(?:\r?\n|(?:\\+r)?\\+n)[ \t]*";
    // As much of that as has come, since its line may be unfinished.
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

/// A field in a text.
pub(super) struct Field {
    /// Where its name begins, or the quote or tag before it.
    pub(super) start: usize,
    /// Its value with the quotes; empty if the text ends before it.
    pub(super) value: Range<usize>,
    /// The quotes around its name.
    quote: Range<usize>,
    /// Whether more of its value may come.
    pub(super) is_open: bool,
}

impl Field {
    /// A word in the quotes of the value, or else in those of the name, so that JSON stays JSON.
    pub(super) fn quoted(&self, text: &[u8], word: &str) -> Vec<u8> {
        let value = &text[self.value.clone()];
        let quote = quote(value).map_or(&text[self.quote.clone()], |length| &value[..length]);
        [quote, word.as_bytes(), quote].concat()
    }

    /// Whether the value already is this word.
    pub(super) fn is(&self, text: &[u8], word: &str) -> bool {
        let value = &text[self.value.clone()];
        let quoted =
            || quote(value).and_then(|length| value.get(length..value.len().checked_sub(length)?));
        value == word.as_bytes() || quoted() == Some(word.as_bytes())
    }
}

/// The fields of a text in order.
pub(super) fn fields<'a>(head: &'a Regex, text: &'a [u8]) -> impl Iterator<Item = Field> + 'a {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let found = head.captures_at(text, at)?;
            let (whole, name) = (found.get(0)?, found.name("name")?);
            // The match may begin with the end of the previous line.
            let start = whole.start() + usize::from(text.get(whole.start()) == Some(&b'\n'));
            let quote = found.name("quote").map_or(0..0, |quote| quote.range());
            // Gives up on names and blanks that go on and on.
            let is_long = name.len().max(whole.end() - name.end()) > MAX_LINE;
            let extent = syntax(&found)
                .filter(|_| !is_long)
                .map(|syntax| syntax.extent(text, name.start(), whole.end()));
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
                // The separator of no field may be the start of another.
                _ => at = name.end(),
            }
            // A separator on the next line has its value there, and that line may be unfinished.
            let after = &text[whole.end()..];
            let is_below = text[name.end()..whole.end()].contains(&b'\n');
            if is_below && !is_long && after.len() < MAX_LINE && !after.contains(&b'\n') {
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

/// How a value follows its name.
enum Syntax<'a> {
    /// `name: value`, `name=value`.
    Assignment(Separator),
    /// `name == "value"`, where only a string is a value.
    Comparison,
    /// `["--name", "value"]`, where another option is no value.
    ArgumentList,
    /// `--name value`.
    Argument,
    /// `name string = "value"`.
    Declaration,
    /// `<name>value</name>`, and how tags open there.
    Tag(&'a [u8]),
    /// `<name attribute="x">value</name>`.
    TagWithAttributes(&'a [u8]),
    /// `name, value: value`, and where the second name begins.
    NameValuePair(usize, Separator),
    /// `name`, and then the text ends.
    Incomplete,
}

/// The syntax of a match; `None` if it is no field, as in `name::other`.
fn syntax<'a>(found: &Captures<'a>) -> Option<Syntax<'a>> {
    let has = |name: &str| found.name(name).is_some();
    if has("last") || has("next") {
        return Some(Syntax::Incomplete);
    }
    if let (Some(pair), Some(by)) = (found.name("pair"), found.name("by")) {
        let separator = if by.as_bytes() == b":" {
            Separator::Colon
        } else {
            Separator::Equals
        };
        return Some(Syntax::NameValuePair(pair.start(), separator));
    }
    if let Some(level) = found.name("level") {
        return Some(Syntax::Assignment(Separator::InUrl(level.len() / 2)));
    }
    let Some(sign) = found.name("sign") else {
        let tag = found.name("tag").map(|tag| opening(tag.as_bytes()));
        let is_long = found.name("option").is_some_and(|option| option.len() == 2);
        let syntax = match (tag, has("end")) {
            (Some(tag), true) => Syntax::Tag(tag),
            (Some(tag), false) => Syntax::TagWithAttributes(tag),
            (None, true) => return None,
            (None, false) if is_long => Syntax::Argument,
            (None, false) => Syntax::Declaration,
        };
        return (!has("quote") && !has("index")).then_some(syntax);
    };
    match sign.as_bytes() {
        b"," => (has("option") && has("quote")).then_some(Syntax::ArgumentList),
        b"==" | b"===" => Some(Syntax::Comparison),
        // `[name]: address` is a link.
        b":" if has("index") => None,
        b":" => Some(Syntax::Assignment(Separator::Colon)),
        b"=>" => Some(Syntax::Assignment(Separator::Arrow)),
        b"=" | b":=" => Some(Syntax::Assignment(Separator::Equals)),
        _ => None,
    }
}

/// How a tag opens, without a namespace.
fn opening(tag: &[u8]) -> &[u8] {
    let length = match tag.first() {
        Some(b'<') => 1,
        Some(b'&') => b"&lt;".len(),
        _ => count(tag, |byte| byte == b'\\') + b"u003c".len(),
    };
    tag.get(..length).unwrap_or(tag)
}

impl Syntax<'_> {
    /// The extent of a value that begins at `from`.
    fn extent(&self, text: &[u8], name: usize, from: usize) -> Extent {
        let quoted = |from: usize| quote(&text[from..]).filter(|_| from < text.len());
        let value = match self {
            Self::Assignment(by) => Some(assigned(text, name, from, *by)),
            Self::NameValuePair(name, by) => Some(assigned(text, *name, from, *by)),
            Self::Comparison => quoted(from).map(|_| enclosed(text, from)),
            Self::ArgumentList => quoted(from)
                .filter(|length| text.get(from + length) != Some(&b'-'))
                .map(|_| enclosed(text, from)),
            Self::Argument => Some(argument(text, from)),
            Self::Declaration => declared(&text[from..])
                .map(|length| from + length)
                .filter(|right| quoted(*right).is_some())
                .map(|right| enclosed(text, right)),
            Self::Tag(opening) => Some(until_tag(text, from, opening)),
            Self::TagWithAttributes(opening) => {
                end_of_tag(text, from, opening).map(|from| until_tag(text, from, opening))
            }
            Self::Incomplete => Some(Extent::awaited(from)),
        };
        value.unwrap_or_else(|| Extent::none(from))
    }
}
