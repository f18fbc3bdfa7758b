//! Waits until files of a project change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness::path::ROOT_FILES;

/// How often the files are checked.
const INTERVAL: Duration = Duration::from_millis(250);
/// How long the files must stay unchanged before they are read: editors write in several steps.
const SETTLE: Duration = Duration::from_millis(100);
/// The deepest folder below `.harness` that is looked at.
const DEPTH: usize = 4;

/// The root file and the files below `.harness`, with what changes when a file does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProjectFiles(BTreeMap<String, FileMark>);

/// Length, times and inode.
#[derive(Debug, PartialEq, Eq)]
struct FileMark(u64, (i64, i64), (i64, i64), u64);

impl ProjectFiles {
    /// The files now.
    pub(crate) fn of(project: &Path) -> Self {
        let mut files = Self(BTreeMap::new());
        for name in ROOT_FILES {
            files.add(&project.join(name), name.to_owned());
        }
        files.add_folder(&project.join(".harness"), ".harness", DEPTH);
        files
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Waits for a change and names the files; `None` if cancelled.
    pub(crate) async fn changed(
        &self,
        project: &Path,
        cancel: &CancellationToken,
    ) -> Option<Vec<String>> {
        let pause = |time| async move {
            tokio::select! {
                () = tokio::time::sleep(time) => Some(()),
                () = cancel.cancelled() => None,
            }
        };
        let mut now = Self::of(project);
        while now == *self {
            pause(INTERVAL).await?;
            now = Self::of(project);
        }
        loop {
            pause(SETTLE).await?;
            let again = Self::of(project);
            if again == now {
                return Some(self.differences(&now));
            }
            now = again;
        }
    }

    /// The names of files that are new, gone or different.
    fn differences(&self, now: &Self) -> Vec<String> {
        let gone = self.0.keys().filter(|name| !now.0.contains_key(*name));
        let gone = gone.map(|name| format!("{name} (deleted)"));
        let other = now
            .0
            .iter()
            .filter(|(name, mark)| self.0.get(*name) != Some(mark));
        let other = other.map(|(name, _)| match self.0.contains_key(name) {
            true => name.clone(),
            false => format!("{name} (new)"),
        });
        gone.chain(other).collect()
    }

    fn add(&mut self, path: &Path, name: String) {
        if let Ok(found) = fs::metadata(path) {
            let mark = FileMark(
                found.len(),
                (found.mtime(), found.mtime_nsec()),
                (found.ctime(), found.ctime_nsec()),
                found.ino(),
            );
            self.0.insert(name, mark);
        }
    }

    fn add_folder(&mut self, folder: &Path, name: &str, depth: usize) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth > 0 => {
                    self.add_folder(&entry.path(), &name, depth - 1);
                }
                Ok(kind) if !kind.is_dir() => self.add(&entry.path(), name),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_changed_and_deleted_files_are_named() {
        let project = tempfile::tempdir().expect("a folder");
        let tools = project.path().join(".harness/tools");
        fs::create_dir_all(&tools).expect("folders");
        for name in ["a.md", "b.md"] {
            fs::write(tools.join(name), "one").expect("a file");
        }
        fs::write(project.path().join("other.txt"), "one").expect("a file");
        let before = ProjectFiles::of(project.path());
        assert_eq!(before.len(), 2);
        fs::write(project.path().join("other.txt"), "two and three").expect("a file");
        assert_eq!(ProjectFiles::of(project.path()), before);
        fs::write(tools.join("a.md"), "one and more").expect("a file");
        fs::remove_file(tools.join("b.md")).expect("removed");
        fs::write(project.path().join("harness.md"), "").expect("a file");
        assert_eq!(
            before.differences(&ProjectFiles::of(project.path())),
            [
                ".harness/tools/b.md (deleted)",
                ".harness/tools/a.md",
                "harness.md (new)"
            ]
        );
    }
}
