//! Files that lead Git to one of its folders: `.git` in a linked working tree or a submodule, and
//! `commondir` in the folder of a linked working tree.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Whether Git, if it followed this file, would find only what is protected by its name: a folder
/// of Git's own.
pub(super) fn is_harmless(path: &Path, text: &[u8]) -> bool {
    let (Some(name), Some(folder)) = (path.file_name(), path.parent()) else {
        return false;
    };
    let text = String::from_utf8_lossy(text);
    if name.eq_ignore_ascii_case("commondir") {
        let to = text.trim_end_matches(['\n', '\r']);
        return to.is_empty() || is_above(folder, &folder.join(to));
    }
    // Git refuses to go on with any other text.
    let Some(to) = text.strip_prefix("gitdir: ") else {
        return true;
    };
    let to = to.trim_end_matches(['\n', '\r']);
    let is_gits = |path: &Path| {
        let mut parts = path.components().map(Component::as_os_str);
        parts.any(|part| part == ".git")
            && parts
                .next()
                .is_some_and(|next| next == "worktrees" || next == "modules")
    };
    let to = folder.join(to);
    to.as_os_str() != folder.as_os_str() && is_gits(&plain(&to)) && is_gits(&real(&to))
}

/// The folder with what all working trees share is around the one with what each has.
fn is_above(folder: &Path, to: &Path) -> bool {
    let is_gits = |path: &Path| path.components().any(|part| part.as_os_str() == ".git");
    let (folder, to) = (real(folder), real(to));
    is_gits(&to) && folder.starts_with(&to)
}

/// A path without `..`, as its text says.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    let real = path.ancestors().find_map(|above| {
        let found = fs::canonicalize(above).ok()?;
        Some(plain(&found.join(path.strip_prefix(above).ok()?)))
    });
    real.unwrap_or_else(|| plain(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gits_own_folders_are_pointed_at() {
        let place = tempfile::tempdir().expect("a folder");
        let top = fs::canonicalize(place.path()).expect("real");
        fs::create_dir_all(top.join("repo/.git/worktrees/w")).expect("folders");
        fs::create_dir_all(top.join("repo/.git/modules/m")).expect("folders");
        fs::create_dir_all(top.join("evil/.git")).expect("folders");
        fs::create_dir_all(top.join("tree")).expect("folders");
        std::os::unix::fs::symlink(top.join("evil"), top.join("repo/.git/modules/link"))
            .expect("a link");
        let pointer = top.join("tree/.git");
        for (to, expected) in [
            ("../repo/.git/worktrees/w", true),
            ("../repo/.git/modules/m", true),
            ("../repo/.git/modules/new/one", true),
            ("../evil", false),
            ("../evil/.git", false),
            ("../repo/.git/modules/link", false),
            ("../repo/.git/modules/../../../evil", false),
            ("", false),
        ] {
            let text = format!("gitdir: {to}\n");
            assert_eq!(is_harmless(&pointer, text.as_bytes()), expected, "{to}");
        }
        assert!(is_harmless(&pointer, b"") && is_harmless(&pointer, b"gitd"));
        let common = top.join("repo/.git/worktrees/w/commondir");
        assert!(is_harmless(&common, b"../..\n") && is_harmless(&common, b""));
        for text in ["../../../../evil\n", "/\n", "../../..\n", "."] {
            let is_own = text == ".";
            assert_eq!(is_harmless(&common, text.as_bytes()), is_own, "{text}");
        }
    }
}
