//! Patterns over names, paths and values.

use globset::{Glob, GlobBuilder, GlobMatcher};
use std::sync::OnceLock;

/// What somebody wrote to stand for one text or many.
#[derive(Debug)]
pub(crate) struct Pattern {
    glob: Glob,
    /// Whether it stands for itself alone. Most patterns do, and comparing is cheaper than any machine.
    plain: bool,
    /// Made when it is first needed: many rules are never asked.
    matcher: OnceLock<GlobMatcher>,
}

/// Whether `*` stops at a slash.
#[derive(Clone, Copy)]
pub(crate) enum Separator {
    /// It does: the pattern is about paths.
    Literal,
    /// It does not.
    Ordinary,
}

impl Pattern {
    /// `None` when the text is no pattern.
    pub(crate) fn new(text: &str, separator: Separator) -> Option<Self> {
        let literal = matches!(separator, Separator::Literal);
        let glob = GlobBuilder::new(text).literal_separator(literal).backslash_escape(true).build().ok()?;
        Some(Self { glob, plain: !text.contains(['*', '?', '[', ']', '{', '}', '\\']), matcher: OnceLock::new() })
    }

    /// Whether it stands for this text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        if self.plain { self.text() == text } else { self.matcher.get_or_init(|| self.glob.compile_matcher()).is_match(text) }
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        self.glob.glob()
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Separator};

    #[test]
    fn a_pattern_matches_what_it_stands_for() {
        for (pattern, separator, text, expected) in [
            ("fs.read", Separator::Ordinary, "fs.read", true),
            ("fs.read", Separator::Ordinary, "fs.reads", false),
            ("fs.read", Separator::Ordinary, "fsxread", false),
            ("fs.*", Separator::Ordinary, "fs.read", true),
            ("{fs,fs.*}", Separator::Ordinary, "fs", true),
            ("src/*", Separator::Literal, "src/a/b", false),
            ("src/*", Separator::Ordinary, "src/a/b", true),
            ("a\\*", Separator::Ordinary, "a*", true),
            ("a\\*", Separator::Ordinary, "ab", false),
            ("", Separator::Ordinary, "", true),
            ("", Separator::Ordinary, "x", false),
        ] {
            let compiled = Pattern::new(pattern, separator).expect(pattern);
            assert_eq!(compiled.is_match(text), expected, "{pattern} on {text}");
        }
        assert!(Pattern::new("[", Separator::Ordinary).is_none());
    }
}
