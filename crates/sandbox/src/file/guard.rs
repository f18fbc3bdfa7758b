//! What of a workspace may be written: no protected name, and nothing outside the bounds.

use super::bound::PathBounds;
use super::error::{FileError, shown};
use super::private::PrivatePlaces;
use super::protected::is_protected;
use std::sync::Arc;

/// Refuses what may not be written: protected names, what links in the workspace make protected
/// (writing to `settings/claude` where `.claude` is a link to it writes the client's settings), and
/// what is private in a home, and what is outside a tool's bounds.
#[derive(Debug, Default)]
pub struct WriteGuard {
    /// Workspace-relative real paths whose trees are protected too.
    pub(super) aliases: Vec<String>,
    /// What of the workspace may be changed at all.
    pub(super) bounds: Arc<PathBounds>,
    /// What of it belongs to a person.
    pub(super) private: Arc<PrivatePlaces>,
}

impl WriteGuard {
    /// Whether a workspace-relative path without links is protected.
    #[must_use]
    pub fn is_protected(&self, path: &str) -> bool {
        let below = |alias: &String| {
            path.strip_prefix(alias.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        is_protected(path) || self.aliases.iter().any(below)
    }

    /// Refuses a workspace-relative path that no tool may change.
    pub(super) fn judge(&self, path: &str) -> Result<(), FileError> {
        if self.is_protected(path) {
            Err(FileError::Protected(shown(path)))
        } else {
            self.private.judge(path, path)?;
            self.bounds.judge_write(path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_a_link_gives_to_a_protected_name_is_protected_by_whole_parts() {
        let guard = WriteGuard {
            aliases: vec!["conf/claude".into()],
            ..WriteGuard::default()
        };
        assert!(matches!(
            guard.judge("conf/claude"),
            Err(FileError::Protected(_))
        ));
        assert!(matches!(
            guard.judge("conf/claude/x"),
            Err(FileError::Protected(_))
        ));
        assert!(guard.judge("conf/claude2").is_ok());
        assert!(guard.judge("conf").is_ok());
    }
}
