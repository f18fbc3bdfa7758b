//! Paths as text, resolved by name, and the names that make a folder a project.

use std::path::Path;

/// A path as the file jail will see it: `.` and `..` resolved by name, slashes single. What leaves the start keeps its `..`.
#[must_use]
pub fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if path.starts_with('/') => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    if path.starts_with('/') {
        format!("/{joined}")
    } else {
        joined
    }
}

/// A path of the workspace, with dots resolved by name; nothing for one that leaves it.
pub(crate) fn within_workspace(path: &str) -> Option<String> {
    let path = normalise(path);
    let leaves = path.starts_with(['/', '~']) || path == ".." || path.starts_with("../");
    (!leaves).then(|| {
        if path.is_empty() {
            ".".to_owned()
        } else {
            path
        }
    })
}

/// Names of the root file of a project.
pub const ROOT_FILES: [&str; 3] = ["harness.md", "harness.yaml", "harness.yml"];

/// The folder of a project's artifacts.
pub const PROJECT_FOLDER: &str = ".harness";

/// Whether a path, as diagnostics write it, is the project's root file.
pub(crate) fn is_root_file(path: &str) -> bool {
    ROOT_FILES.contains(&path)
}

/// Whether a folder holds a project.
#[must_use]
pub fn is_project(folder: &Path) -> bool {
    let mut names = ROOT_FILES.iter().chain([&PROJECT_FOLDER]);
    names.any(|name| folder.join(name).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalising_a_path_resolves_dots_by_name() {
        for (path, expected) in [
            ("a/./b", "a/b"),
            ("a/../b", "b"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("//a//b/", "/a/b"),
            ("", ""),
        ] {
            assert_eq!(normalise(path), expected);
        }
    }
}
