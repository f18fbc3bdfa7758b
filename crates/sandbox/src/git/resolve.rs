//! Where a path leads, link by link.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// How many links one path may pass; the kernel has the same limit.
const MOST_LINKS: usize = 40;

/// Follows links, and remembers which of the paths that it passed are links.
#[derive(Debug, Default)]
pub(crate) struct LinkReader {
    known: HashMap<PathBuf, Option<PathBuf>>,
}

/// Where a path leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Every link on the way, in order.
    pub(crate) links: Vec<PathBuf>,
    /// The end, without links and dots; a missing path ends where it would be. `None` for a loop.
    pub(crate) end: Option<PathBuf>,
}

impl LinkReader {
    pub(crate) fn resolve(&mut self, path: &Path) -> Resolved {
        let mut links = Vec::new();
        let mut at = PathBuf::from("/");
        let parts = |path: &Path| path.iter().map(OsString::from).collect::<Vec<_>>();
        let mut waiting: VecDeque<OsString> = parts(path).into();
        while let Some(part) = waiting.pop_front() {
            match part.as_bytes() {
                b"/" => at = PathBuf::from("/"),
                b"." => {}
                b".." => drop(at.pop()),
                _ => {
                    at.push(part);
                    let Some(target) = self.target(&at) else {
                        continue;
                    };
                    if links.len() == MOST_LINKS {
                        return Resolved { links, end: None };
                    }
                    links.push(at.clone());
                    at.pop();
                    for part in parts(&target).into_iter().rev() {
                        waiting.push_front(part);
                    }
                }
            }
        }
        Resolved {
            links,
            end: Some(at),
        }
    }

    fn target(&mut self, path: &Path) -> Option<PathBuf> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let target = std::fs::read_link(path).ok();
        self.known.insert(path.to_path_buf(), target.clone());
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_listed_on_the_way_and_missing_ends_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let top = folder.path().canonicalize().expect("a path");
        std::fs::create_dir_all(top.join("a/b")).expect("folders");
        symlink("a/b", top.join("in")).expect("a link");
        symlink(top.join("in/new"), top.join("far")).expect("a link");
        symlink("round", top.join("round")).expect("a link");
        let mut reader = LinkReader::default();
        for (path, end, links) in [
            ("a/./b", Some("a/b"), &[][..]),
            ("in/x/../y", Some("a/b/y"), &["in"]),
            ("far", Some("a/b/new"), &["far", "in"]),
            ("none/x", Some("none/x"), &[]),
        ] {
            let expected = Resolved {
                links: links.iter().map(|link| top.join(link)).collect(),
                end: end.map(|end| top.join(end)),
            };
            assert_eq!(reader.resolve(&top.join(path)), expected, "{path}");
        }
        assert_eq!(reader.resolve(&top.join("round/x")).end, None);
    }
}
