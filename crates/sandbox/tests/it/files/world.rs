//! A workspace with files beside it that must not change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tool_harness_sandbox::file::{FileError, Jail, Omit, WalkEnd};

pub(crate) const SECRET: &str = "canary";

/// `ws` is the jail; `outside` and `ws-evil` hold canaries.
pub(crate) struct World {
    base: TempDir,
    pub(crate) jail: Jail,
    before: BTreeMap<PathBuf, String>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::below(TempDir::new().expect("a temporary directory"))
    }

    /// In memory if possible, so that a race runs many times in little time.
    pub(crate) fn quick() -> Self {
        Self::below(
            TempDir::new_in("/dev/shm")
                .or_else(|_| TempDir::new())
                .expect("a temporary directory"),
        )
    }

    fn below(base: TempDir) -> Self {
        let at = base.path();
        for directory in ["ws/src", "outside/sub", "ws-evil"] {
            fs::create_dir_all(at.join(directory)).expect("a directory");
        }
        for canary in ["outside/canary", "outside/sub/canary", "ws-evil/canary"] {
            fs::write(at.join(canary), SECRET).expect("a canary");
        }
        fs::write(at.join("ws/src/main.rs"), "inside").expect("a file");
        let before = [snapshot(&at.join("outside")), snapshot(&at.join("ws-evil"))]
            .into_iter()
            .flatten()
            .collect();
        let jail = Jail::open(&at.join("ws")).expect("a jail");
        Self { base, jail, before }
    }

    /// A path in the workspace.
    pub(crate) fn ws(&self, path: &str) -> PathBuf {
        self.base.path().join("ws").join(path)
    }

    /// A path beside the workspace.
    pub(crate) fn beside(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.ws(path)).expect("a file in the workspace")
    }

    /// The first paths that match, whatever git ignores.
    pub(crate) fn glob(&self, pattern: &str, max: usize) -> Result<Vec<String>, FileError> {
        let (paths, more, end) = self.jail.glob(pattern, Omit::default(), max, &|| false)?;
        assert!(end == WalkEnd::Complete && (!more || paths.len() == max));
        Ok(paths)
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.ws(name)).expect("a link");
    }

    /// Nothing outside was changed, added or removed.
    pub(crate) fn assert_unharmed(&self) {
        let now: BTreeMap<_, _> = [
            snapshot(&self.beside("outside")),
            snapshot(&self.beside("ws-evil")),
        ]
        .into_iter()
        .flatten()
        .collect();
        assert_eq!(
            now, self.before,
            "something outside the workspace was changed"
        );
    }

    /// No half-written file was left anywhere in the workspace.
    pub(crate) fn assert_tidy(&self) {
        let left: Vec<_> = snapshot(&self.ws(""))
            .into_keys()
            .filter(|path| path.to_string_lossy().contains("/.new-"))
            .collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}

/// Every path below a directory with its kind, mode, size and text.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![directory.to_path_buf()];
    while let Some(path) = waiting.pop() {
        let facts = fs::symlink_metadata(&path).expect("facts");
        let text = if facts.is_file() {
            fs::read_to_string(&path).unwrap_or_default()
        } else {
            String::new()
        };
        if facts.is_dir() {
            waiting.extend(
                fs::read_dir(&path)
                    .expect("a directory")
                    .map(|entry| entry.expect("an entry").path()),
            );
        }
        found.insert(path, format!("{:o} {text}", facts.mode()));
    }
    found
}

/// Every operation of the jail on one path, with its name; `free` is a fresh name for the other end
/// of copies and moves.
pub(crate) fn every_operation(
    jail: &Jail,
    path: &str,
) -> Vec<(&'static str, Result<(), FileError>)> {
    let mut results = looking(jail, path);
    results.extend(changing(jail, path));
    results
}

pub(crate) fn looking(jail: &Jail, path: &str) -> Vec<(&'static str, Result<(), FileError>)> {
    vec![
        ("read", jail.read(path, 1 << 20).map(drop)),
        ("stat", jail.stat(path).map(drop)),
        ("list", jail.list(path, 1000).map(drop)),
        ("real", jail.real(path).map(drop)),
        ("copy from", jail.copy(path, "free/copied")),
    ]
}

pub(crate) fn changing(jail: &Jail, path: &str) -> Vec<(&'static str, Result<(), FileError>)> {
    vec![
        ("write", jail.write(path, b"evil").map(drop)),
        ("append", jail.append(path, b"evil")),
        ("mkdir", jail.mkdir(path)),
        ("copy to", jail.copy("src/main.rs", path)),
        ("rename to", jail.rename("src/main.rs", path)),
        ("rename from", jail.rename(path, "free/moved")),
        ("remove", jail.remove(path, false)),
        ("remove all", jail.remove(path, true)),
    ]
}
