//! A glob over workspace-relative paths: what matches, where to start and how deep to go, so that a
//! narrow pattern visits little.

use globset::{GlobBuilder, GlobMatcher};

use super::Jail;
use super::error::{FileError, shown};
use super::protected::GIT_FOLDER;

/// The longest pattern.
const PATTERN_MAX: usize = 1024;

/// A parsed pattern.
pub(super) struct PathPattern {
    matches: PatternMatch,
    /// The directory that holds every match.
    pub(super) start: String,
    /// The most components a match can have, if the pattern limits them.
    depth: Option<usize>,
    /// Whether the pattern is the path of one file.
    pub(super) is_plain: bool,
}

/// Which paths below the start match.
enum PatternMatch {
    All,
    None,
    Glob(GlobMatcher),
}

impl PathPattern {
    pub(super) fn parse(jail: &Jail, pattern: &str) -> Result<Self, FileError> {
        let bad = |why: &str| FileError::BadPattern {
            pattern: shown(pattern),
            why: why.into(),
        };
        if pattern.is_empty() || pattern.contains('\0') || pattern.len() > PATTERN_MAX {
            return Err(bad(
                "expected 1 to 1024 bytes without a zero byte, such as `src/**/*.rs`",
            ));
        }
        if pattern.split('/').any(|part| part == "..") {
            return Err(FileError::Outside(shown(pattern)));
        }
        // The same rules as for paths: relative, or absolute if it begins with the workspace,
        // component by component.
        let inside = jail.parse(pattern)?;
        let text = inside.as_str();
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|error| bad(&error.kind().to_string()))?;
        let parts: Vec<&str> = text.split('/').collect();
        let is_plain = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        let all_plain = parts.iter().take_while(is_plain).count();
        let plain = all_plain.min(parts.len() - 1);
        // `.git` is left out even if the pattern names it.
        let matches = if parts[..plain].contains(&GIT_FOLDER) {
            PatternMatch::None
        } else if matches!(parts[plain..], ["**"] | ["**", "*"]) {
            PatternMatch::All
        } else {
            PatternMatch::Glob(glob.compile_matcher())
        };
        let depth = match matches {
            PatternMatch::None => Some(0),
            // Slashes inside braces or brackets are counted too, which only makes this too large.
            _ => (!text.contains("**")).then_some(parts.len()),
        };
        Ok(Self {
            matches,
            start: match plain {
                0 => ".".into(),
                _ => parts[..plain].join("/"),
            },
            depth,
            is_plain: all_plain == parts.len(),
        })
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        match &self.matches {
            PatternMatch::All => true,
            PatternMatch::None => false,
            PatternMatch::Glob(glob) => glob.is_match(path),
        }
    }

    pub(super) fn reaches_below(&self, directory: &str) -> bool {
        self.depth
            .is_none_or(|parts| directory.split('/').count() < parts)
    }
}
