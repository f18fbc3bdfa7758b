//! How much of a model's context a text takes.

use std::sync::LazyLock;
use tiktoken::CoreBpe;

/// The context of a model, which tools share with everything else it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its size in tokens.
    pub context_tokens: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            context_tokens: Self::DEFAULT,
        }
    }
}

impl Budget {
    /// The context of most models today.
    pub(crate) const DEFAULT: u64 = 200_000;
    /// A smaller number is a mistake.
    pub(crate) const LEAST: u64 = 1000;
    /// One text may take one part in this many of the context.
    const PARTS: u64 = 50;

    /// The most tokens of one description or one schema.
    #[must_use]
    pub(crate) fn of_one_text(self) -> usize {
        usize::try_from(self.context_tokens / Self::PARTS).unwrap_or(usize::MAX)
    }
}

/// A count of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tokens {
    /// Exactly this many.
    Exactly(usize),
    /// At least this many; the rest was not counted.
    AtLeast(usize),
}

/// The OpenAI vocabulary that is quicker to unpack, unpacked on first use. The model that will read
/// a surface is unknown, and for a share of a context the vocabularies agree well enough.
static VOCABULARY: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::cl100k_base);

/// No token of the vocabulary has more bytes.
const LONGEST: usize = 128;

/// How many tokens a text has, if more than `most`. A token has at least one byte, so a short text
/// is not counted at all, and a very long one only as far as needed.
pub(super) fn beyond(text: &str, most: usize) -> Option<Tokens> {
    if text.len() <= most {
        return None;
    }
    let end = text.floor_char_boundary(most.saturating_add(2).saturating_mul(LONGEST));
    let count = VOCABULARY.count(&text[..end]);
    let tokens = if end == text.len() {
        Tokens::Exactly(count)
    } else {
        Tokens::AtLeast(count)
    };
    (count > most).then_some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_past_the_bound_and_not_before() {
        let words = "hello world ".repeat(10);
        assert_eq!(beyond(&words, 5), Some(Tokens::Exactly(21)));
        assert_eq!(beyond(&words, 20), Some(Tokens::Exactly(21)));
        assert_eq!(beyond(&words, 21), None);
        assert_eq!(beyond(&words, words.len()), None);
        assert_eq!(beyond("", 0), None);
    }

    #[test]
    fn whatever_a_text_is_made_of_its_beginning_decides() {
        for part in [" ", "a", "é", "\u{1f600}", "\n", "\u{4e2d}", "x1", "=", "-"] {
            let text = part.repeat(100_000);
            assert!(
                matches!(beyond(&text, 40), Some(Tokens::AtLeast(41..))),
                "{part:?}: {:?}",
                beyond(&text, 40)
            );
        }
    }
}
