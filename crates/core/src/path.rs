//! Paths as text, resolved by name, and the names that make a folder a project.

use std::io;
use std::path::Path;

pub use tool_harness_sandbox::file::{ROOT_FILES, ROOT_FOLDER};

/// A path as the file jail will see it: `.` and `..` resolved by name, slashes single. What leaves the start keeps its `..`.
#[must_use]
pub(crate) fn normalise(path: &str) -> String {
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

/// Whether a path, as diagnostics write it, is the project's root file.
pub(crate) fn is_root_file(path: &str) -> bool {
    ROOT_FILES.contains(&path)
}

/// Whether a folder holds a project: the one answer for every door. A broken project is one too,
/// because what cannot be read may hide rules.
pub fn is_project(folder: &Path) -> io::Result<bool> {
    use io::ErrorKind::{NotADirectory, NotFound};
    for name in ROOT_FILES.into_iter().chain([ROOT_FOLDER]) {
        match folder.join(name).symlink_metadata() {
            Ok(_) => return Ok(true),
            Err(problem) if matches!(problem.kind(), NotFound | NotADirectory) => {}
            Err(problem) => return Err(problem),
        }
    }
    Ok(false)
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
