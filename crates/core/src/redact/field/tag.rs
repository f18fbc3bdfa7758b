//! Values between two tags.

use super::MAX_LINE;
use super::extent::Extent;
use memchr::memmem::find;

/// Bytes of a value between tags. Most text in angle brackets is not a tag, so the search must end
/// soon.
const MAX_TAGGED: usize = 4 << 10;

/// The value between a tag and the one that closes it, where tags open like this. A type in angle
/// brackets has no closing tag.
pub(super) fn until_tag(text: &[u8], from: usize, opening: &[u8]) -> Extent {
    let end = text.len().min(from + MAX_TAGGED);
    let (rest, is_all) = (&text[from..end], end < from + MAX_TAGGED);
    let mut at = 0;
    while let Some(found) = find(&rest[at..], opening) {
        let tag = at + found;
        let inside = tag + opening.len();
        match Tag::at(&rest[inside..]) {
            Tag::Closing if rest[..tag].trim_ascii().is_empty() => return Extent::none(from),
            Tag::Closing => {
                return Extent {
                    value: from..from + tag,
                    is_open: false,
                };
            }
            Tag::Aside(end) => match find(&rest[inside + 3..], end) {
                Some(length) => at = inside + 3 + length + end.len(),
                None => break,
            },
            Tag::Unfinished if is_all => break,
            Tag::Unfinished | Tag::Other => return Extent::none(from),
        }
    }
    // A text that was cut off has no closing tag. A placeholder of a help text has a blank here.
    let line = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let is_begun = !text[..from].ends_with(b" ")
        && rest
            .first()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'<');
    let length = if is_begun && is_all { line } else { 0 };
    Extent {
        value: from..from + length,
        is_open: is_all,
    }
}

/// Where the tag around `from` ends, if it does so on its line and may have a value.
pub(super) fn end_of_tag(text: &[u8], from: usize, opening: &[u8]) -> Option<usize> {
    let line = &text[from..text.len().min(from + MAX_LINE)];
    let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
    let closing = match opening {
        b"<" => b">".to_vec(),
        b"&lt;" => b"&gt;".to_vec(),
        numbered => [numbered.get(..numbered.len() - 1)?, b"e"].concat(),
    };
    let end = find(line, &closing)?;
    let is_tag = find(&line[..end], opening).is_none() && !line[..end].ends_with(b"/");
    is_tag.then_some(from + end + closing.len())
}

/// The kind of a tag, by what follows its bracket.
enum Tag {
    Closing,
    /// A comment or CDATA, and what ends it.
    Aside(&'static [u8]),
    Unfinished,
    Other,
}

impl Tag {
    fn at(inside: &[u8]) -> Self {
        let starts = |with: &[u8]| inside.starts_with(with);
        let may_start = |with: &[u8]| with.starts_with(inside);
        if starts(b"/") || starts(b"\\/") {
            Self::Closing
        } else if starts(b"![CDATA[") {
            Self::Aside(b"]]")
        } else if starts(b"!--") {
            Self::Aside(b"--")
        } else if may_start(b"\\/") || may_start(b"![CDATA[") || may_start(b"!--") {
            Self::Unfinished
        } else {
            Self::Other
        }
    }
}
