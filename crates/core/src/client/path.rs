//! Where a client's path really leads.

use super::ClientToolCall;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// How many links are followed for one path; more means a cycle.
const MAX_LINKS: usize = 40;
/// The longest path that the kernel follows.
pub(super) const MAX_PATH: usize = 4096;

/// The path without links and dots. The part that does not exist is kept as given, below the real
/// path of the part that does. A cycle of links is left unresolved: nothing can be opened through
/// it.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut ahead: VecDeque<OsString> = parts(path);
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = ahead.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        // In place: a long text has many parts, and a copy for each would cost its square.
        real.push(&part);
        if real.as_os_str().len() >= MAX_PATH || links >= MAX_LINKS {
            continue;
        }
        if let Ok(target) = std::fs::read_link(&real) {
            links += 1;
            real.pop();
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            for part in parts(&target).into_iter().rev() {
                ahead.push_front(part);
            }
        }
    }
    real
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

impl ClientToolCall {
    /// The real path of a text that is relative to `base`, starts with `~`, or is a `file:` URL.
    pub(super) fn resolve(&self, text: &str, base: &Path) -> PathBuf {
        let text = text.strip_prefix("file://").unwrap_or(text);
        let from_home = text
            .strip_prefix('~')
            .filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (from_home, &self.client.home) {
            (Some(rest), Some(home)) => real(&home.join(rest.trim_start_matches('/'))),
            _ => real(&base.join(text)),
        }
    }

    /// The path that hooks and policy see: relative inside the project, `.` for the project itself.
    pub(super) fn shown(&self, real: &Path) -> String {
        match real.strip_prefix(self.jail.root()) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.to_string_lossy().into_owned(),
            Err(_) => real.to_string_lossy().into_owned(),
        }
    }

    /// The real path of the folder that the client's tools work in.
    pub(super) fn cwd(&self) -> PathBuf {
        real(&self.client.cwd)
    }

    pub(super) fn project(&self) -> &Path {
        self.jail.root()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_wherever_they_stand_and_the_rest_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("a path");
        std::fs::create_dir_all(top.join("a/b")).expect("folders");
        symlink("a/b", top.join("in")).expect("a link");
        symlink(top.join("a/new.md"), top.join("dangling")).expect("a link");
        symlink("round", top.join("round")).expect("a link");
        for (path, expected) in [
            ("in/x", "a/b/x"),
            ("in/../c", "a/c"),
            ("dangling", "a/new.md"),
            ("none/../in/deep/er", "a/b/deep/er"),
            ("./a//b/.", "a/b"),
            ("round/x", "round/x"),
        ] {
            assert_eq!(real(&top.join(path)), top.join(expected), "{path}");
        }
        assert_eq!(real(Path::new("/../..")), Path::new("/"));
    }
}
