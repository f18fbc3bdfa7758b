//! A folder for repositories, and Git as a person runs it there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use tool_harness_sandbox::git::{GitAnswer, PersonalConfig, look};

/// Whether Git is there.
pub(crate) fn has_git() -> bool {
    let has = Command::new("git")
        .arg("--version")
        .output()
        .is_ok_and(|ran| ran.status.success());
    if !has {
        println!("skipped: no git");
    }
    has
}

/// A folder with a home.
pub(crate) struct GitWorld {
    base: TempDir,
}

impl GitWorld {
    pub(crate) fn new() -> Self {
        let base = TempDir::new().expect("a temporary directory");
        fs::create_dir(base.path().join("home")).expect("a home");
        Self { base }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.base.path())
            .expect("a path")
            .join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    }

    /// Runs Git in a folder, with this world's home and no other settings.
    pub(crate) fn try_git(&self, folder: &str, words: &[&str]) -> Output {
        Command::new("git")
            .args(words)
            .current_dir(self.at(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").expect("a PATH"))
            .env("HOME", self.at("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CEILING_DIRECTORIES", self.at(""))
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@a.test")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@a.test")
            .output()
            .expect("git runs")
    }

    /// The same, and it succeeds.
    pub(crate) fn git(&self, folder: &str, words: &[&str]) -> String {
        let ran = self.try_git(folder, words);
        assert!(ran.status.success(), "{words:?}: {ran:?}");
        String::from_utf8_lossy(&ran.stdout).trim_end().to_owned()
    }

    /// What the harness says Git obeys in a folder.
    pub(crate) fn look(&self, folder: &str) -> GitAnswer {
        look(&self.at(folder), &self.person())
    }

    pub(crate) fn person(&self) -> PersonalConfig {
        let home = self.at("home");
        PersonalConfig {
            files: vec![home.join(".gitconfig"), home.join(".config/git/config")],
            home: Some(home),
        }
    }
}

/// The folder that Git looks for hooks in, by its own word.
pub(crate) fn hooks_by_git(world: &GitWorld, folder: &str) -> PathBuf {
    let path = world.git(folder, &["rev-parse", "--git-path", "hooks"]);
    let path = world.at(folder).join(Path::new(&path));
    fs::canonicalize(&path).unwrap_or(path)
}
