//! Tells whether a project's files changed, without reading them.

use super::file_kind::FOLDERS;
use super::load::{names, roots};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The metadata of every artifact file. If two stamps are equal, no file changed in between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamp(Vec<(PathBuf, Option<FileIdentity>)>);

/// What changes with a file: its length, its times to the nanosecond, and its inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    file: (u64, u64),
}

impl Stamp {
    /// Adds files from elsewhere.
    #[must_use]
    pub fn and<'a>(mut self, files: impl IntoIterator<Item = &'a Path>) -> Self {
        self.0
            .extend(files.into_iter().map(|path| (path.to_owned(), mark(path))));
        self
    }

    /// The stamp of a project now. Costs a listing of each folder and a `stat` of each file.
    #[must_use]
    pub fn of(project: &Path) -> Self {
        let mut files: Vec<PathBuf> = roots(project).map(|name| project.join(name)).collect();
        for (folder, _) in FOLDERS {
            let folder = project.join(".harness").join(folder);
            // A folder that cannot be listed is stamped itself, so that a change of its permissions
            // is noticed.
            match names(&folder) {
                Ok(names) => files.extend(names.into_iter().map(|name| folder.join(name))),
                Err(_) => files.push(folder),
            }
        }
        Self(
            files
                .into_iter()
                .map(|path| (mark(&path), path))
                .map(|(mark, path)| (path, mark))
                .collect(),
        )
    }
}

/// Follows links, as the reader does.
fn mark(path: &Path) -> Option<FileIdentity> {
    let found = fs::metadata(path).ok()?;
    Some(FileIdentity {
        bytes: found.len(),
        modified: (found.mtime(), found.mtime_nsec()),
        changed: (found.ctime(), found.ctime_nsec()),
        file: (found.dev(), found.ino()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_changes_with_every_kind_of_change_and_not_without_one() {
        let project = tempfile::tempdir().expect("a folder");
        let tools = project.path().join(".harness/tools");
        let write = |name: &str, text: &str| fs::write(tools.join(name), text).expect("a file");
        let mut last = Stamp::of(project.path());
        let mut changes = |what: &str, change: &dyn Fn()| {
            assert_eq!(Stamp::of(project.path()), last, "before {what}");
            change();
            let now = Stamp::of(project.path());
            assert_ne!(now, last, "after {what}");
            last = now;
        };
        changes("a first file", &|| {
            fs::create_dir_all(&tools).expect("folders");
            write("a.md", "one");
        });
        changes("another text of the same length", &|| write("a.md", "two"));
        changes("a file put in its place", &|| {
            write("_new", "two");
            fs::rename(tools.join("_new"), tools.join("a.md")).expect("a rename");
        });
        changes("a root file", &|| {
            fs::write(project.path().join("harness.md"), "---\n---\n").expect("a file")
        });
        changes("a file removed", &|| {
            fs::remove_file(tools.join("a.md")).expect("removed")
        });
        assert_eq!(Stamp::of(project.path()), last);
        write("notes.txt", "no artifact");
        assert_eq!(Stamp::of(project.path()), last);
    }
}
