//! Tokens that are known by their shape. One list for what is found in artifacts and for what is taken out of results.

use super::key::{DASHES, Lines};
use std::ops::Range;

/// What is known by its shape, and whose it is.
pub(crate) struct Shape {
    /// How it begins.
    pub(super) heads: &'static [&'static str],
    pub(super) tail: Tail,
    /// What it is.
    pub(crate) what: &'static str,
}

/// How a token goes on after its head.
#[derive(Clone, Copy)]
pub(super) enum Tail {
    /// With at least this many bytes of a class.
    Run { class: Class, least: usize },
    /// The same, of which a part is no word but letters and digits at random.
    Random { class: Class, least: usize },
    /// With exactly this many, and then no more of a word.
    Exactly { class: Class, count: usize },
    /// With the rest of its first line, and the lines of a key.
    Key,
}

impl Tail {
    /// Bytes of the shortest one.
    pub(super) const fn least(self) -> usize {
        match self {
            Self::Run { least, .. } | Self::Random { least, .. } => least,
            Self::Exactly { count, .. } => count,
            Self::Key => KEY_LABEL.len() + DASHES.len(),
        }
    }
}

type Class = fn(u8) -> bool;

const WORD: Class = |byte| byte.is_ascii_alphanumeric();
const WIDE: Class = |byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
const DOTTED: Class = |byte| WIDE(byte) || byte == b'.';
const DASHED: Class = |byte| byte.is_ascii_alphanumeric() || byte == b'-';
const UNDERSCORED: Class = |byte| byte.is_ascii_alphanumeric() || byte == b'_';
const CAPITALS: Class = |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase();

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        heads: &["AKIA", "ASIA"],
        tail: Tail::Exactly {
            class: CAPITALS,
            count: 16,
        },
        what: "an access key of AWS",
    },
    Shape {
        heads: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        tail: Tail::Run {
            class: WORD,
            least: 36,
        },
        what: "a token of GitHub",
    },
    Shape {
        heads: &["github_pat_"],
        tail: Tail::Run {
            class: UNDERSCORED,
            least: 60,
        },
        what: "a token of GitHub",
    },
    Shape {
        heads: &["glpat-"],
        tail: Tail::Run {
            class: WIDE,
            least: 20,
        },
        what: "a token of GitLab",
    },
    Shape {
        heads: &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"],
        tail: Tail::Run {
            class: DASHED,
            least: 20,
        },
        what: "a token of Slack",
    },
    Shape {
        heads: &["sk-ant-"],
        tail: Tail::Run {
            class: WIDE,
            least: 30,
        },
        what: "a key of Anthropic",
    },
    // Names in a style sheet may begin like that, too.
    Shape {
        heads: &["sk-"],
        tail: Tail::Random {
            class: WIDE,
            least: 40,
        },
        what: "a key of OpenAI",
    },
    Shape {
        heads: &["AIza"],
        tail: Tail::Exactly {
            class: WIDE,
            count: 35,
        },
        what: "a key of Google",
    },
    Shape {
        heads: &["rk_live_", "sk_live_"],
        tail: Tail::Run {
            class: WORD,
            least: 20,
        },
        what: "a key of Stripe",
    },
    Shape {
        heads: &["npm_"],
        tail: Tail::Exactly {
            class: WORD,
            count: 36,
        },
        what: "a token of npm",
    },
    Shape {
        heads: &["hf_"],
        tail: Tail::Run {
            class: WORD,
            least: 30,
        },
        what: "a token of Hugging Face",
    },
    Shape {
        heads: &["SG."],
        tail: Tail::Run {
            class: DOTTED,
            least: 60,
        },
        what: "a key of SendGrid",
    },
    Shape {
        heads: &["-----BEGIN "],
        tail: Tail::Key,
        what: "a private key",
    },
];

/// Heads of so few bytes are parts of other words, too, and count only where a word begins.
const SHORT_HEAD: usize = 3;
/// Bytes after a head that tell a token from what only shows one. Whatever comes of them, a text full of heads is gone through once.
const DECIDES: usize = 128;
/// Bytes before a token that say whether it is the start of a word.
pub(super) const CONTEXT: usize = 6;
/// Bytes in which the first line of a key has to end.
const KEY_LINE: usize = 64;
/// What that line says, or ends in before its dashes.
const KEY_LABEL: &[u8] = b"PRIVATE KEY";
/// What every key of OpenAI has in it: its name in base64.
const OPENAI: &[u8] = b"T3BlbkFJ";
/// Letters and digits without a break, and digits among them, that no name has.
const STRETCH: usize = 16;
const DIGITS: usize = 2;

/// Whether more of the text may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum More {
    MayCome,
    Not,
}

/// What stands where a head was found.
#[derive(Debug)]
pub(super) enum Found {
    /// Something else.
    Nothing,
    /// It cannot be told before more has come.
    Undecided,
    /// A token that ends here.
    Until(usize),
    /// A token that goes on beyond what has come, which is swallowed by this.
    Beyond(Rest),
}

impl Shape {
    /// What stands at `start`, where a head of `head` bytes was found.
    pub(super) fn judge(&self, text: &[u8], start: usize, head: usize, more: More) -> Found {
        let from = start + head;
        if let Tail::Key = self.tail {
            return judge_key(text, from, more);
        }
        if head <= SHORT_HEAD && !starts_word(&text[start.saturating_sub(CONTEXT)..start]) {
            return Found::Nothing;
        }
        let run = |class: Class, most: usize| {
            text[from..]
                .iter()
                .take(most)
                .take_while(|byte| class(**byte))
                .count()
        };
        let (class, least, most) = match self.tail {
            Tail::Run { class, least } | Tail::Random { class, least } => (class, least, DECIDES),
            Tail::Exactly { class, count } => (class, count, count),
            Tail::Key => return Found::Nothing,
        };
        let is_exact = matches!(self.tail, Tail::Exactly { .. });
        let end = from + run(class, most);
        if end == text.len() && more == More::MayCome && (is_exact || end - from < most) {
            return Found::Undecided;
        }
        let is_one = match self.tail {
            Tail::Exactly { .. } => !text.get(end).is_some_and(|next| is_word(*next)),
            Tail::Random { .. } => is_random(&text[from..end]),
            Tail::Run { .. } | Tail::Key => true,
        };
        if end - from < least || !is_one || is_placeholder(&text[start..end]) {
            return Found::Nothing;
        }
        if is_exact {
            return Found::Until(end);
        }
        // Only what is a token is followed to its end, and nothing of it is looked at again.
        let end = from + run(class, usize::MAX);
        if end == text.len() && more == More::MayCome {
            Found::Beyond(Rest::Run(class))
        } else {
            Found::Until(end)
        }
    }
}

fn judge_key(text: &[u8], from: usize, more: More) -> Found {
    let line = &text[from..text.len().min(from + KEY_LINE)];
    let Some(dashes) = find(line, DASHES) else {
        return if line.len() < KEY_LINE && more == More::MayCome {
            Found::Undecided
        } else {
            Found::Nothing
        };
    };
    let label = line[..dashes]
        .strip_suffix(b" BLOCK")
        .unwrap_or(&line[..dashes]);
    if !label.ends_with(KEY_LABEL) || !label.iter().all(|byte| CAPITALS(*byte) || *byte == b' ') {
        return Found::Nothing;
    }
    Found::Beyond(Rest::Key {
        header: from + dashes + DASHES.len(),
        lines: Lines::default(),
    })
}

/// What of a token is still to come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rest {
    /// Bytes of this class.
    Run(Class),
    /// The lines of a key, from here on.
    Key {
        /// Where its first line ends.
        header: usize,
        /// What came of the others.
        lines: Lines,
    },
}

/// How far the rest of a token goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Swallowed {
    /// To here, where it ends.
    Whole(usize),
    /// To here, and on.
    Part(usize),
}

impl Rest {
    /// Where the first line of a key ends.
    pub(super) fn header(self) -> Option<usize> {
        match self {
            Self::Key { header, .. } => Some(header),
            Self::Run(_) => None,
        }
    }

    /// How much of the text from `from` belongs to the token, and what of it is to come then.
    pub(super) fn swallow(self, text: &[u8], from: usize, more: More) -> (Swallowed, Self) {
        match self {
            Self::Key { header, lines } => {
                let (swallowed, lines) = lines.swallow(text, from, more);
                (swallowed, Self::Key { header, lines })
            }
            Self::Run(class) => {
                let run = from + text[from..].iter().take_while(|byte| class(**byte)).count();
                let is_open = run == text.len() && more == More::MayCome;
                (
                    if is_open {
                        Swallowed::Part(run)
                    } else {
                        Swallowed::Whole(run)
                    },
                    self,
                )
            }
        }
    }
}

/// Every token in a text, with what it is.
pub(crate) fn tokens(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let (bytes, known) = (text.as_bytes(), super::known::shapes_only());
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(hit) = known.find(bytes, at) {
        at = hit.end;
        let Some(shape) = hit.shape else { continue };
        match shape.judge(bytes, hit.start, hit.end - hit.start, More::Not) {
            Found::Until(end) => at = end,
            Found::Beyond(Rest::Key { header, .. }) => at = header,
            _ => {
                at = hit.start + 1;
                continue;
            }
        }
        found.push((hit.start..at, shape.what));
    }
    found
}

/// Whether a text only shows what a token looks like.
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

/// Whether a text has a part that was chosen at random.
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

/// Whether what comes after these bytes is the start of a word, also where the text is escaped as JSON or as part of an address.
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
        ] {
            assert_eq!(tokens(&text).len(), count, "{text}");
        }
    }

    #[test]
    fn heads_in_a_row_are_gone_through_once_and_hide_nothing() {
        for head in ["sk-ant-", "sk-proj-", "xoxb-", "glpat-"] {
            // So many that the product of both lengths would take minutes.
            let text = format!(
                "{}{head}16C7e42F292c6912E7710c838347Ae178B4aQ9-16C7e42F",
                head.repeat(20_000)
            );
            assert_eq!(tokens(&text).len(), 1, "{head}");
        }
    }
}
