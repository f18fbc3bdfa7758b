//! Tells tokens from other words by their shape. The checks report them in artifacts, and results lose them.

use super::key::{DASHES, KeyLines};
use super::shape::CAPITALS;
use std::ops::Range;

/// The shape of the tokens of one vendor.
pub(crate) struct TokenShape {
    /// How the token may begin.
    pub(super) heads: &'static [&'static str],
    pub(super) tail: Tail,
    /// What the token is, for messages.
    pub(crate) what: &'static str,
}

/// What follows the head of a token.
#[derive(Clone, Copy)]
pub(super) enum Tail {
    /// At least this many bytes of a class.
    Run(Class, usize),
    /// The same, and a part of it looks random.
    Random(Class, usize),
    /// Exactly this many bytes, and then the end of the word.
    Exactly(Class, usize),
    /// The rest of its first line, and the lines of a key.
    Key,
}

impl Tail {
    /// Bytes of the shortest tail.
    pub(super) const fn least(self) -> usize {
        match self {
            Self::Run(_, least) | Self::Random(_, least) | Self::Exactly(_, least) => least,
            Self::Key => KEY_LABEL.len() + DASHES.len(),
        }
    }
}

pub(super) type Class = fn(u8) -> bool;

/// A head of at most this many bytes is part of other words, and counts only at the start of a
/// word.
const SHORT_HEAD: usize = 3;
/// Bytes after a head that tell a token from a placeholder. The bound keeps a text full of heads
/// linear.
const DECIDES: usize = 128;
/// Bytes before a token that show whether it begins a word.
pub(super) const CONTEXT: usize = 6;
/// Bytes in which the first line of a key must end.
const KEY_LINE: usize = 64;
/// How the label of that line ends.
const KEY_LABEL: &[u8] = b"PRIVATE KEY";
/// Part of every key of OpenAI: its name in base64.
const OPENAI: &[u8] = b"T3BlbkFJ";
/// A run of this many letters and digits, of which this many are digits, is not a name.
const STRETCH: usize = 16;
const DIGITS: usize = 2;

/// Whether the text has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eof {
    NotYet,
    Reached,
}

/// What a head turned out to be.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Something else.
    NoToken,
    /// More input must come first.
    Undecided,
    /// A token that ends here.
    Token(usize),
    /// A token whose end has not come.
    Open(OpenToken),
}

impl TokenShape {
    /// Judges the text at `start`, where a head of `head` bytes was found.
    pub(super) fn judge(&self, text: &[u8], start: usize, head: usize, eof: Eof) -> Verdict {
        let from = start + head;
        if head <= SHORT_HEAD && !starts_word(&text[start.saturating_sub(CONTEXT)..start]) {
            return Verdict::NoToken;
        }
        let run = |class: Class, most: usize| {
            text[from..]
                .iter()
                .take(most)
                .take_while(|byte| class(**byte))
                .count()
        };
        let (class, least, most) = match self.tail {
            Tail::Run(class, least) | Tail::Random(class, least) => (class, least, DECIDES),
            Tail::Exactly(class, count) => (class, count, count),
            Tail::Key => return judge_key(text, from, eof),
        };
        let is_exact = matches!(self.tail, Tail::Exactly(..));
        let end = from + run(class, most);
        if end == text.len() && eof == Eof::NotYet && (is_exact || end - from < most) {
            return Verdict::Undecided;
        }
        let is_one = match self.tail {
            Tail::Exactly(..) => !text.get(end).is_some_and(|next| is_word(*next)),
            Tail::Random(..) => is_random(&text[from..end]),
            Tail::Run(..) | Tail::Key => true,
        };
        if end - from < least || !is_one || is_placeholder(&text[start..end]) {
            return Verdict::NoToken;
        }
        if is_exact {
            return Verdict::Token(end);
        }
        // Only a token is followed to its end, and is not searched again.
        let end = from + run(class, usize::MAX);
        if end == text.len() && eof == Eof::NotYet {
            Verdict::Open(OpenToken::Run(class))
        } else {
            Verdict::Token(end)
        }
    }
}

fn judge_key(text: &[u8], from: usize, eof: Eof) -> Verdict {
    let line = &text[from..text.len().min(from + KEY_LINE)];
    let Some(dashes) = find(line, DASHES) else {
        return if line.len() < KEY_LINE && eof == Eof::NotYet {
            Verdict::Undecided
        } else {
            Verdict::NoToken
        };
    };
    let label = line[..dashes]
        .strip_suffix(b" BLOCK")
        .unwrap_or(&line[..dashes]);
    if !label.ends_with(KEY_LABEL) || !label.iter().all(|byte| CAPITALS(*byte) || *byte == b' ') {
        return Verdict::NoToken;
    }
    Verdict::Open(OpenToken::Key {
        header: from + dashes + DASHES.len(),
        lines: KeyLines::default(),
    })
}

/// A token whose end has not come.
#[derive(Clone, Copy, Debug)]
pub(super) enum OpenToken {
    /// Goes on with bytes of this class.
    Run(Class),
    /// Goes on with the lines of a key.
    Key {
        /// Where its first line ends.
        header: usize,
        /// The state of the lines so far.
        lines: KeyLines,
    },
}

/// How far a token goes in the text so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TokenEnd {
    /// It ends here.
    At(usize),
    /// It goes on after this.
    Beyond(usize),
}

impl OpenToken {
    /// Where the first line of a key ends.
    pub(super) fn header(self) -> Option<usize> {
        match self {
            Self::Key { header, .. } => Some(header),
            Self::Run(_) => None,
        }
    }

    /// How much of the text from `from` belongs to the token, and its state after that.
    pub(super) fn swallow(self, text: &[u8], from: usize, eof: Eof) -> (TokenEnd, Self) {
        match self {
            Self::Key { header, lines } => {
                let (swallowed, lines) = lines.swallow(text, from, eof);
                (swallowed, Self::Key { header, lines })
            }
            Self::Run(class) => {
                let run = from + text[from..].iter().take_while(|byte| class(**byte)).count();
                let is_open = run == text.len() && eof == Eof::NotYet;
                (
                    if is_open {
                        TokenEnd::Beyond(run)
                    } else {
                        TokenEnd::At(run)
                    },
                    self,
                )
            }
        }
    }
}

/// The tokens in a text that people write. The first line of a key with nothing behind it is a word
/// about keys, as in a guard that looks for them.
pub(crate) fn written_tokens(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let found = spans(text).into_iter();
    let whole = found.filter(|(_, _, extent)| *extent == Extent::Whole);
    whole.map(|(range, what, _)| (range, what)).collect()
}

/// Every token in a text, and what it is.
pub(crate) fn tokens(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let found = spans(text).into_iter();
    found.map(|(range, what, _)| (range, what)).collect()
}

/// How much of a token was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Whole,
    /// Only the first line of a key.
    Header,
}

fn spans(text: &str) -> Vec<(Range<usize>, &'static str, Extent)> {
    let bytes = text.as_bytes();
    let mut search = super::matcher::shapes_only().search(bytes);
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(hit) = search.find(at) {
        at = hit.end;
        let Some(shape) = hit.shape else { continue };
        let mut extent = Extent::Whole;
        match shape.judge(bytes, hit.start, hit.end - hit.start, Eof::Reached) {
            Verdict::Token(end) => at = end,
            Verdict::Open(OpenToken::Key { header, .. }) => {
                let (end, lines) = KeyLines::default().swallow(bytes, header, Eof::Reached);
                let (TokenEnd::At(end) | TokenEnd::Beyond(end)) = end;
                // The whole key, so that nobody quotes its body.
                (at, extent) = match lines.has_body() {
                    true => (end.max(header), Extent::Whole),
                    false => (header, Extent::Header),
                };
            }
            _ => {
                at = hit.start + 1;
                continue;
            }
        }
        found.push((hit.start..at, shape.what, extent));
    }
    found
}

/// Whether a token is only an example of its shape.
fn is_placeholder(token: &[u8]) -> bool {
    let mut seen = [false; 256];
    token
        .iter()
        .for_each(|byte| seen[usize::from(*byte)] = true);
    let lower = token.to_ascii_lowercase();
    seen.iter().filter(|seen| **seen).count() < 8
        || find(token, b"EXAMPLE").is_some()
        || find(&lower, b"xxxx").is_some()
}

/// Whether a part of the token looks random.
fn is_random(token: &[u8]) -> bool {
    let is_stretch = |part: &[u8]| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        part.len() >= STRETCH && (DIGITS..part.len()).contains(&digits)
    };
    find(token, OPENAI).is_some()
        || token
            .split(|byte| !byte.is_ascii_alphanumeric())
            .any(is_stretch)
}

/// Whether a word begins after these bytes, which may be an escape of JSON or of a URL.
fn starts_word(before: &[u8]) -> bool {
    let hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    match before {
        [.., last] if !is_word(*last) => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => true,
        [.., b'%', a, b] => hex(&[*a, *b]),
        [b'\\', b'u', rest @ ..] if rest.len() == 4 => hex(rest),
        [] => true,
        _ => false,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len())
        .position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_finds_its_own_and_nothing_that_only_shows_it() {
        let body = "16C7e42F292c6912E7710c838347Ae178B4aQ9";
        let hex = "16c7e42f292c6912e7710c838347ae178b4a90d5f16c7e42f292c6912e7710c8";
        for (text, count) in [
            (format!("ghp_{}", &body[..36]), 1),
            (format!("x = \"AKIA{}\"", "IOSFODNN7QWERTYU"), 1),
            (format!("AKIA{}z", "IOSFODNN7QWERTYU"), 0),
            (format!("sk-ant-{body}"), 1),
            (format!("sk-proj-{body}"), 1),
            (
                format!("sk-{}{}{}", &body[..20], "T3BlbkFJ", &body[..20]),
                1,
            ),
            (
                format!(
                    "sk-svcacct-{}-{}_{}",
                    "aBcD-eFgH_".repeat(5),
                    "T3BlbkFJ",
                    "iJkL-mNoP_".repeat(5)
                ),
                1,
            ),
            (format!("sk-or-v1-{}", "0123456789abcdef".repeat(4)), 1),
            (format!("task-{body}{body}"), 0),
            (
                "sk-something-long-with-dashes-and-then-some-more-of-them".to_owned(),
                0,
            ),
            (
                "sk-circle-card__header--is-highlighted-on-hover-2xl-2023-11-05".to_owned(),
                0,
            ),
            (
                "sk-theverylongnameofaclassinastylesheetwithoutanydigits".to_owned(),
                0,
            ),
            (format!("npm_{}", &body[..36]), 1),
            (format!("npm_{body}"), 0),
            (format!("-----BEGIN {}PRIVATE KEY-----", "RSA "), 1),
            ("-----BEGIN CERTIFICATE-----".to_owned(), 0),
            (format!("xghp_{}", &body[..36]), 1),
            (format!("line\\nhf_{}", &body[..36]), 1),
            (format!("?q=%20hf_{}", &body[..36]), 1),
            (format!("half_hf_{}", &body[..36]), 0),
            (format!("SG.{}.{body}", &body[..22]), 1),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), 0),
            ("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".to_owned(), 0),
            ("a word like ghp_short or sk-something".to_owned(), 0),
            (format!("gldt-{}", &body[..20]), 1),
            (format!("glrt-t3_{}.01.{}", &body[..27], &body[..9]), 1),
            (format!("glptt-{}", &hex[..40]), 1),
            (format!("glcbt-64_{}", &body[..20]), 1),
            (format!("xapp-1-A0123456789-1234567890123-{hex}"), 1),
            ("xapp-the-name-of-a-package-with-many-dashes".to_owned(), 0),
            (format!("xoxe.xoxp-1-{body}"), 1),
            (
                format!(
                    "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/{}",
                    &body[..24]
                ),
                1,
            ),
            (
                format!(
                    "https://hooks.slack.com/services/T00000000/B00000000/{}",
                    "X".repeat(24)
                ),
                0,
            ),
            (
                "https://hooks.slack.com/services/ and https://api.slack.com/messaging/webhooks"
                    .to_owned(),
                0,
            ),
            (format!("ya29.a0Af_{body}"), 1),
            ("ya29.com/x".to_owned(), 0),
            (format!("GOCSPX-{}", &body[..28]), 1),
            (format!("sk_test_{}", &body[..24]), 1),
            (format!("rk_test_{}", &body[..24]), 1),
            ("sk_test_of_the_reader_and_more_words".to_owned(), 0),
            (format!("whsec_{}+/{}==", &body[..20], &body[..20]), 1),
            (format!("pypi-AgEIcHlwaS5vcmc{body}{body}"), 1),
            ("pypi-AgE and pypi-warehouse".to_owned(), 0),
            (format!("dop_v1_{hex}"), 1),
            (format!("dapi{}-2", &hex[..32]), 1),
            (format!("dapi{}", &hex[..33]), 0),
            (format!("hvs.{}", &body[..24]), 1),
            (format!("lin_api_{body}{body}"), 1),
            (format!("dp.st.dev.{body}{}", &body[..5]), 1),
            (
                format!("AccountKey={body}{body}{}==;EndpointSuffix=x", &body[..10]),
                1,
            ),
            ("AccountKey=<your key>".to_owned(), 0),
            (format!("dckr_pat_{}", &body[..27]), 1),
            (format!("shpat_{}", &hex[..32]), 1),
            (format!("tskey-auth-{}-{}", &body[..16], &body[..20]), 1),
            ("8f14e45f-ceea-467f-a8c9-1b2c3d4e5f60".to_owned(), 0),
            (hex.to_owned(), 0),
        ] {
            assert_eq!(tokens(&text).len(), count, "{text}");
        }
    }

    #[test]
    fn heads_in_a_row_are_gone_through_once_and_hide_nothing() {
        for head in ["sk-ant-", "sk-proj-", "xoxb-", "glpat-"] {
            // So many that quadratic time would be minutes.
            let text = format!(
                "{}{head}16C7e42F292c6912E7710c838347Ae178B4aQ9-16C7e42F",
                head.repeat(20_000)
            );
            assert_eq!(tokens(&text).len(), 1, "{head}");
        }
    }
}
