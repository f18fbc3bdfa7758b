//! The one table of names that tools never change: what decides what tools may do, and what runs
//! programs on a person's behalf. All other code asks here.

use crate::fold::folded;
use globset::{GlobBuilder, GlobMatcher};

/// The files that make a folder a project, in lookup order.
pub const ROOT_FILES: [&str; 3] = ["harness.md", "harness.yaml", "harness.yml"];
/// The folder that makes a folder a project.
pub const ROOT_FOLDER: &str = ".harness";
/// Git's folder, or the file that names it.
pub(crate) const GIT_FOLDER: &str = ".git";

/// What an entry of the table covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Covers {
    /// The name and everything below it.
    Tree,
    /// Only the name: tools cannot create, replace, remove or rename it, but may change what is in
    /// it.
    Name,
}

/// The names of one entry: a path, where `**` stands for any number of folders.
type Pattern = &'static [&'static str];

/// Every protected name, at any depth of the workspace, whether it exists or not.
const PROTECTED: &[(Pattern, Covers)] = &[
    // What the harness itself obeys.
    (&[ROOT_FOLDER], Covers::Tree),
    (&[ROOT_FILES[0]], Covers::Tree),
    (&[ROOT_FILES[1]], Covers::Tree),
    (&[ROOT_FILES[2]], Covers::Tree),
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
    // Git runs hooks and the programs that its configuration names; `.git` as a file and
    // `commondir` say where Git finds them.
    (&[GIT_FOLDER], Covers::Name),
    (&[GIT_FOLDER, "**", "hooks"], Covers::Tree),
    (&[GIT_FOLDER, "**", "config"], Covers::Tree),
    (&[GIT_FOLDER, "**", "config.worktree"], Covers::Tree),
    (&[GIT_FOLDER, "**", "commondir"], Covers::Tree),
];

/// Whether a workspace-relative path is, or is below, a protected name. Links are not followed.
#[must_use]
pub fn is_protected(path: &str) -> bool {
    let parts = folded_parts(path);
    PROTECTED.iter().any(|(pattern, covers)| {
        (0..parts.len()).any(|start| matches(pattern, &parts[start..], *covers))
    })
}

/// Whether a protected path can end with this name: `harness.md`, which is protected everywhere, or
/// `settings.json`, which is protected only in `.vscode`. Fast, because the sandbox asks it of
/// every name in a workspace.
#[must_use]
pub fn is_protected_name(name: &str) -> bool {
    let mut ends = PROTECTED.iter().filter_map(|(pattern, _)| pattern.last());
    if name.is_ascii() {
        return ends.any(|end| end.eq_ignore_ascii_case(name));
    }
    let folded = folded_parts(name).pop().unwrap_or_default();
    ends.any(|end| *end == folded)
}

/// Whether a folder with this name holds protected files: `.claude`, or `.vscode`, which also holds
/// others.
#[must_use]
pub fn is_folder_of_protected(name: &str) -> bool {
    is_protected(&format!("{name}/x")) || is_stem(name)
}

/// The names that are protected wherever they are: `harness.md`, `.claude`, `.git`.
pub fn protected_everywhere() -> impl Iterator<Item = &'static str> {
    PROTECTED.iter().filter_map(|(pattern, _)| match pattern {
        [name] => Some(*name),
        _ => None,
    })
}

/// Whether a glob (`*`, `?`, `[…]`) can match something protected. A pattern without `/` is
/// compared with names (as `find -name` does), one with `/` with paths from the top of the
/// workspace, where `*` also matches `/` (as `find -path` does). Case is ignored. An invalid glob
/// is compared as text.
#[must_use]
pub fn glob_matches_protected(pattern: &str) -> bool {
    let glob = GlobBuilder::new(pattern)
        .case_insensitive(true)
        .backslash_escape(true)
        .build()
        .map(|glob| glob.compile_matcher());
    let matches = |text: &str| {
        glob.as_ref().map_or_else(
            |_| text.eq_ignore_ascii_case(pattern),
            |glob: &GlobMatcher| glob.is_match(text),
        )
    };
    PROTECTED.iter().any(|(names, covers)| {
        if !pattern.contains('/') {
            return names.last().is_some_and(|name| matches(name));
        }
        let path = openable(names);
        let below = (*covers == Covers::Tree).then(|| format!("{path}/x"));
        [Some(path), below]
            .into_iter()
            .flatten()
            .any(|path| matches(&path) || matches(&format!("./{path}")))
    })
}

/// The paths of protected trees at the top of the workspace, as they can be opened.
pub(super) fn protected_paths() -> impl Iterator<Item = String> {
    PROTECTED
        .iter()
        .filter(|(_, covers)| *covers == Covers::Tree)
        .map(|(pattern, _)| openable(pattern))
}

fn openable(pattern: Pattern) -> String {
    let names: Vec<_> = pattern
        .iter()
        .copied()
        .filter(|name| *name != "**")
        .collect();
    names.join("/")
}

/// Whether a folder or link that becomes `path` could make its content protected, although it was
/// not when it was written.
pub(super) fn is_stem(path: &str) -> bool {
    let is_first = |part: &String, pattern: Pattern| pattern.len() > 1 && part == pattern[0];
    let completes = |part: &String| PROTECTED.iter().any(|(pattern, _)| is_first(part, pattern));
    folded_parts(path).iter().any(completes)
}

/// The names that are protected only in a folder of one name, with that folder: `.vscode` and
/// `settings.json`. Git's own are not among them.
pub(crate) fn protected_pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    PROTECTED.iter().filter_map(|(pattern, _)| match pattern {
        [outer, inner] if *outer != GIT_FOLDER => Some((*outer, *inner)),
        _ => None,
    })
}

/// Whether a name is Git's folder, in any spelling.
pub(crate) fn is_git_folder(name: &str) -> bool {
    folded_parts(name) == [GIT_FOLDER]
}

/// The components of a path as a file system that ignores case would compare them, so that
/// `.Harness` is protected, too.
pub(super) fn folded_parts(path: &str) -> Vec<String> {
    let fold = |part: &str| -> String {
        if part.is_ascii() {
            return part.to_ascii_lowercase();
        }
        folded(part).collect()
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
    fn stems_are_the_directories_that_complete_a_protected_name() {
        assert!(is_stem(".vscode") && is_stem("a/.GIT") && is_stem(".git/modules/x"));
        assert!(!is_stem("vscode") && !is_stem("src/x"));
    }

    #[test]
    fn a_name_is_asked_for_without_its_place() {
        for name in [
            "harness.md",
            "Harness.YML",
            ".harness",
            ".git",
            "settings.json",
            "config",
            "hooks",
            ".har\u{200c}ness",
        ] {
            assert!(is_protected_name(name), "{name}");
        }
        for name in ["README.md", ".vscode", "harness", "HEAD", ""] {
            assert!(!is_protected_name(name), "{name}");
        }
        for name in [".harness", ".claude", ".vscode", ".Config", ".git"] {
            assert!(is_folder_of_protected(name), "{name}");
        }
        for name in ["src", "vscode", "goose"] {
            assert!(!is_folder_of_protected(name), "{name}");
        }
        let everywhere: Vec<_> = protected_everywhere().collect();
        assert!(everywhere.contains(&"harness.lock") && everywhere.contains(&GIT_FOLDER));
        assert!(!everywhere.contains(&"settings.json"));
        assert!(everywhere.iter().all(|name| is_protected(name)));
        assert!(ROOT_FILES.iter().all(|name| everywhere.contains(name)));
        assert!(everywhere.contains(&ROOT_FOLDER));
        assert!(is_git_folder(".GIT") && !is_git_folder(".git/x") && !is_git_folder("git"));
    }

    #[test]
    fn a_glob_is_compared_with_every_protected_name_or_path() {
        for pattern in [
            "harness.y*",
            "harness.m*",
            "HARNESS.*",
            "settings.json",
            ".h*",
            ".[a-h]*",
            "*.md",
            "*",
            ".mcp.jso?",
            "conf*",
            "./harness.md",
            "./.harness/*",
            "*/.claude/*",
            "*/.vscode/set*",
            ".git/hooks",
            "./.git/h*",
            "*/x",
        ] {
            assert!(glob_matches_protected(pattern), "{pattern}");
        }
        for pattern in [
            "*.rs",
            "*.log",
            "src*",
            "README.md",
            "./src/*",
            "*/node_modules/*",
            ".vscode",
            "[",
            "",
        ] {
            assert!(!glob_matches_protected(pattern), "{pattern}");
        }
    }
}
