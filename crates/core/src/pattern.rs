//! Globs over names, paths and values, the same for checks and for enforcement.

use globset::{Glob, GlobBuilder, GlobMatcher};
use std::sync::OnceLock;

/// Bytes of a glob. The automaton of a longer one could exceed its size limit.
const MAX_BYTES: usize = 4096;

/// A pattern that matches one text or many.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// `None` for a literal. Most patterns are, and comparing is cheaper than any automaton.
    glob: Option<Box<Lazy>>,
}

#[derive(Clone, Debug)]
struct Lazy {
    glob: Glob,
    /// Built on first use, since many rules are never asked.
    matcher: OnceLock<GlobMatcher>,
}

/// Whether `*` stops at a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// It does: the pattern matches paths.
    Literal,
    /// It does not.
    Ordinary,
}

impl Pattern {
    /// Compiles a pattern; the error says why it is invalid.
    pub fn new(text: &str, separator: Separator) -> Result<Self, String> {
        if !text.contains(['*', '?', '[', '{', '}', '\\']) {
            return Ok(Self {
                text: text.to_owned(),
                glob: None,
            });
        }
        if text.len() > MAX_BYTES {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        let literal = separator == Separator::Literal;
        let glob = GlobBuilder::new(text)
            .literal_separator(literal)
            .backslash_escape(true)
            .build();
        let glob = glob.map_err(|problem| problem.kind().to_string())?;
        Ok(Self {
            text: text.to_owned(),
            glob: Some(Box::new(Lazy {
                glob,
                matcher: OnceLock::new(),
            })),
        })
    }

    /// Whether it matches this text.
    #[must_use]
    pub(crate) fn is_match(&self, text: &str) -> bool {
        match &self.glob {
            None => self.text == text,
            Some(lazy) => lazy
                .matcher
                .get_or_init(|| lazy.glob.compile_matcher())
                .is_match(text),
        }
    }

    /// Whether it matches only itself.
    #[must_use]
    pub(crate) fn is_exact(&self) -> bool {
        self.glob.is_none()
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, Pattern, Separator};
    use proptest::prelude::*;

    #[test]
    fn a_pattern_matches_what_it_stands_for() {
        for (pattern, separator, text, expected) in [
            ("fs.read", Separator::Ordinary, "fs.read", true),
            ("fs.read", Separator::Ordinary, "fs.reads", false),
            ("fs.read", Separator::Ordinary, "fsxread", false),
            ("fs.*", Separator::Ordinary, "fs.read", true),
            ("{fs,fs.*}", Separator::Ordinary, "fs", true),
            ("*_file", Separator::Ordinary, "read_file", true),
            ("re*le", Separator::Ordinary, "read_file", true),
            ("rea?_file", Separator::Ordinary, "read_file", true),
            ("[rw]ead_file", Separator::Ordinary, "read_file", true),
            ("{read,write}_file", Separator::Ordinary, "write_file", true),
            ("**", Separator::Ordinary, "read_file", true),
            ("strings::*", Separator::Ordinary, "strings::count", true),
            ("src/*", Separator::Literal, "src/a/b", false),
            ("src/**", Separator::Literal, "src/a/b", true),
            ("src/*", Separator::Ordinary, "src/a/b", true),
            ("a\\*", Separator::Ordinary, "a*", true),
            ("a\\*", Separator::Ordinary, "ab", false),
            ("a]", Separator::Ordinary, "a]", true),
            ("", Separator::Ordinary, "", true),
            ("", Separator::Ordinary, "x", false),
        ] {
            let compiled = Pattern::new(pattern, separator).expect(pattern);
            assert_eq!(compiled.is_match(text), expected, "{pattern} on {text}");
            assert_eq!(
                compiled.clone().is_match(text),
                expected,
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        for text in [
            "[oops",
            "{a",
            "a}",
            "[z-a]",
            "a\\",
            &"?".repeat(MAX_BYTES + 1),
        ] {
            assert!(
                !Pattern::new(text, Separator::Ordinary)
                    .expect_err(text)
                    .is_empty()
            );
        }
        assert!(
            Pattern::new("read_file", Separator::Ordinary)
                .expect("a name")
                .is_exact()
        );
        assert!(
            !Pattern::new("rea?_file", Separator::Ordinary)
                .expect("a glob")
                .is_exact()
        );
    }

    #[test]
    fn the_longest_pattern_still_makes_a_machine() {
        for part in [
            "?",
            "*",
            "**/",
            "[a-z]",
            "[!\u{10ffff}]",
            "{a,b}",
            "{[!a],*}",
            "\u{10ffff}",
        ] {
            let text = part.repeat((MAX_BYTES - 1) / part.len());
            for separator in [Separator::Ordinary, Separator::Literal] {
                // It may be refused, but if it is accepted, it must match.
                let Ok(pattern) = Pattern::new(&format!("{text}*"), separator) else {
                    continue;
                };
                let _: bool = pattern.is_match("x");
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_is_taken_answers(text in "[a*?\\[\\]{},!/\\\\é-]{0,24}", subject in "[ab/é]{0,8}") {
            for separator in [Separator::Ordinary, Separator::Literal] {
                let Ok(pattern) = Pattern::new(&text, separator) else { continue };
                prop_assert!(!pattern.is_exact() || pattern.is_match(&subject) == (subject == text));
                let _: bool = pattern.is_match(&subject);
            }
        }
    }
}
