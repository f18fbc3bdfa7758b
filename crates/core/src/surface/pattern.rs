//! Patterns over names: real globs, everywhere.

use globset::{GlobBuilder, GlobMatcher};

/// A name, or a glob over names.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// Absent for a plain name.
    glob: Option<GlobMatcher>,
}

impl Pattern {
    /// A pattern; the reason when it is none.
    pub fn new(text: &str) -> Result<Self, String> {
        if !text.contains(['*', '?', '[', '{', '\\']) {
            return Ok(Self { text: text.to_owned(), glob: None });
        }
        let glob = GlobBuilder::new(text).literal_separator(false).backslash_escape(true).build();
        let glob = glob.map_err(|problem| problem.kind().to_string())?;
        Ok(Self { text: text.to_owned(), glob: Some(glob.compile_matcher()) })
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is one name and no glob.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.glob.is_none()
    }

    /// Whether it matches a name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.glob.as_ref().map_or_else(|| self.text == name, |glob| glob.is_match(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn patterns_are_real_globs() {
        for (pattern, name, expected) in [
            ("read_file", "read_file", true),
            ("read_file", "read_files", false),
            ("read_*", "read_file", true),
            ("*_file", "read_file", true),
            ("re*le", "read_file", true),
            ("rea?_file", "read_file", true),
            ("[rw]ead_file", "read_file", true),
            ("{read,write}_file", "write_file", true),
            ("**", "read_file", true),
            ("strings::*", "strings::count", true),
        ] {
            assert_eq!(Pattern::new(pattern).expect("a pattern").matches(name), expected, "{pattern} {name}");
        }
        assert!(Pattern::new("[oops").is_err());
        assert!(Pattern::new("read_file").expect("a pattern").is_exact());
        assert!(!Pattern::new("rea?_file").expect("a pattern").is_exact());
    }
}
