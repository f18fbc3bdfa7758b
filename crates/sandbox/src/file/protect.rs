//! The names that tools never change: what decides what tools may do, and what runs programs on a person's behalf.

use super::bound::Bounds;
use super::error::{FileError, shown};
use std::sync::Arc;

/// What an entry of the table covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covers {
    /// The name and everything below it.
    Tree,
    /// Only the name: it cannot be created, replaced, removed or renamed, but what is in it may change.
    Name,
}

/// Every protected name, at any depth of the workspace, whether it exists or not. `**` stands for any number of directories.
const PROTECTED: &[(&[&str], Covers)] = &[
    // What the harness itself obeys.
    (&[".harness"], Covers::Tree),
    (&["harness.md"], Covers::Tree),
    (&["harness.yaml"], Covers::Tree),
    (&["harness.yml"], Covers::Tree),
    (&["harness.lock"], Covers::Tree),
    // Settings of clients: they start servers and hooks.
    (&[".claude"], Covers::Tree),
    (&[".claude.json"], Covers::Tree),
    (&[".codex"], Covers::Tree),
    (&[".cursor"], Covers::Tree),
    (&[".gemini"], Covers::Tree),
    (&[".goose"], Covers::Tree),
    (&[".config", "goose"], Covers::Tree),
    (&[".mcp.json"], Covers::Tree),
    (&[".vscode", "mcp.json"], Covers::Tree),
    (&[".vscode", "settings.json"], Covers::Tree),
    // Git runs hooks and programs named in its configuration; `.git` as a file and `commondir` say where that is found.
    (&[".git"], Covers::Name),
    (&[".git", "**", "hooks"], Covers::Tree),
    (&[".git", "**", "config"], Covers::Tree),
    (&[".git", "**", "config.worktree"], Covers::Tree),
    (&[".git", "**", "commondir"], Covers::Tree),
];

/// Whether a workspace-relative path is, or is below, a protected name. Links are not looked at.
pub fn is_protected(path: &str) -> bool {
    let parts = folded_parts(path);
    PROTECTED.iter().any(|(pattern, covers)| {
        (0..parts.len()).any(|start| matches(pattern, &parts[start..], *covers))
    })
}

/// Whether a directory or link that comes to `path` could make what is in it protected, although nothing in it was when it was written.
pub(super) fn is_stem(path: &str) -> bool {
    let completes = |part: &String| {
        PROTECTED.iter().any(|(pattern, _)| {
            pattern.len() > 1 && pattern.first().is_some_and(|stem| part == stem)
        })
    };
    folded_parts(path).iter().any(completes)
}

/// Whether a protected path could end with this name: quickly, because it is asked of every name in a workspace.
pub(crate) fn may_end_protected(name: &str) -> bool {
    let mut ends = PROTECTED.iter().filter_map(|(pattern, _)| pattern.last());
    if name.is_ascii() {
        return ends.any(|end| end.eq_ignore_ascii_case(name));
    }
    let folded = folded_parts(name).pop().unwrap_or_default();
    ends.any(|end| *end == folded)
}

/// What has to follow this name for a path to be protected, where the name alone is not: `settings.json` after `.vscode`.
pub(crate) fn stem_rests(name: &str) -> impl Iterator<Item = String> {
    let folded = if name.starts_with('.') {
        folded_parts(name).pop()
    } else {
        None
    };
    let follows = move |(pattern, _): &&(&[&str], Covers)| {
        pattern.len() > 1 && pattern[0] != ".git" && folded.as_deref() == Some(pattern[0])
    };
    PROTECTED
        .iter()
        .filter(follows)
        .map(|(pattern, _)| pattern[1..].join("/"))
}

/// Where the protected names lie directly in the workspace, as paths that can be opened.
pub(crate) fn at_top() -> impl Iterator<Item = String> {
    let openable = |pattern: &[&str]| {
        pattern
            .iter()
            .copied()
            .filter(|part| *part != "**")
            .collect::<Vec<_>>()
            .join("/")
    };
    PROTECTED
        .iter()
        .filter(|(_, covers)| *covers == Covers::Tree)
        .map(move |(pattern, _)| openable(pattern))
}

/// The protected names together with the places that links in the workspace give them: whoever writes to `settings/claude` where
/// `.claude` is a link to it writes the client's settings.
#[derive(Debug, Default)]
pub struct Guard {
    /// Workspace-relative real paths whose trees are protected too.
    pub(super) aliases: Vec<String>,
    /// What of the workspace may be changed at all.
    pub(super) bounds: Arc<Bounds>,
}

impl Guard {
    /// Whether a workspace-relative path without links is protected.
    pub fn covers(&self, path: &str) -> bool {
        let below = |alias: &String| {
            path.strip_prefix(alias.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        is_protected(path) || self.aliases.iter().any(below)
    }

    /// Refuses a workspace-relative path that no tool may change.
    pub(super) fn judge(&self, path: &str) -> Result<(), FileError> {
        if self.covers(path) {
            Err(FileError::Protected(shown(path)))
        } else {
            self.bounds.judge_write(path)
        }
    }
}

/// Characters that some file systems leave out when they compare names, and that nobody sees.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// The parts of a path as a file system that ignores case would compare them, so that `.Harness` is no way around.
pub(super) fn folded_parts(path: &str) -> Vec<String> {
    let fold = |part: &str| -> String {
        if part.is_ascii() {
            return part.to_ascii_lowercase();
        }
        part.chars()
            .filter(|c| !is_invisible(*c))
            .flat_map(char::to_uppercase)
            .flat_map(char::to_lowercase)
            .collect()
    };
    path.split('/').map(fold).collect()
}

fn matches(pattern: &[&str], parts: &[String], covers: Covers) -> bool {
    match pattern {
        [] => covers == Covers::Tree || parts.is_empty(),
        ["**", rest @ ..] => {
            (0..parts.len()).any(|skipped| matches(rest, &parts[skipped..], covers))
        }
        [name, rest @ ..] => {
            parts.first().is_some_and(|part| part == name) && matches(rest, &parts[1..], covers)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protected_names_are_known_at_any_depth_and_their_neighbours_are_not() {
        let protected = [
            ".harness",
            ".harness/tools/x.md",
            "a/b/.harness/x",
            "harness.md",
            "sub/harness.yaml",
            "harness.yml",
            "harness.lock",
            ".claude/settings.json",
            ".claude.json",
            ".config/goose/config.yaml",
            ".codex/config.toml",
            ".cursor/mcp.json",
            ".gemini/x",
            ".goose/x",
            ".mcp.json",
            "a/.mcp.json",
            ".vscode/mcp.json",
            ".vscode/settings.json",
            ".git",
            "vendor/x/.git",
            ".git/hooks",
            ".git/hooks/pre-commit",
            ".git/config",
            ".git/modules/x/hooks/post-checkout",
            ".git/modules/a/b/config",
            ".git/worktrees/w/config.worktree",
            ".git/worktrees/w/commondir",
            ".HARNESS/x",
            "Harness.MD",
            ".Git/Hooks/x",
            ".harne\u{17f}s/x",
            ".har\u{200c}ness/x",
        ];
        for path in protected {
            assert!(is_protected(path), "{path}");
        }
        let free = [
            "src/main.rs",
            "harness",
            "harness.md.bak",
            "my-harness.md",
            "docs/harness.txt",
            ".harnessed/x",
            "claude/x",
            ".vscode/launch.json",
            ".vscode",
            "mcp.json",
            "settings.json",
            ".git/info/exclude",
            ".git/HEAD",
            "hooks/x",
            "config",
            ".github/workflows/ci.yml",
            ".gitignore",
            ".",
        ];
        for path in free {
            assert!(!is_protected(path), "{path}");
        }
    }

    #[test]
    fn a_place_that_a_link_gives_to_a_protected_name_is_protected_by_whole_parts() {
        let guard = Guard {
            aliases: vec!["conf/claude".into()],
            ..Guard::default()
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

    #[test]
    fn stems_are_the_directories_that_complete_a_protected_name() {
        assert!(is_stem(".vscode") && is_stem("a/.GIT") && is_stem(".git/modules/x"));
        assert!(!is_stem("vscode") && !is_stem("src/x"));
    }
}
