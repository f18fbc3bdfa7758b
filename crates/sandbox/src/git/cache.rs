//! Answers that are kept as long as a new look would give the same.

use super::answer::GitAnswer;
use super::{PersonalConfig, look, look_at};
use crate::lock::lock;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Kept answers: the workspaces of a process and the repositories in them.
const MOST_KEPT: usize = 256;

/// The answers about the folders of one person, each kept until something it depends on changes.
#[derive(Debug, Default)]
pub struct AnswerCache {
    person: PersonalConfig,
    kept: Mutex<HashMap<(PathBuf, LookStart), Arc<GitAnswer>>>,
}

/// Where a look begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LookStart {
    /// In a folder, from which Git looks upwards.
    Folder,
    /// At a repository.
    Repository,
}

impl AnswerCache {
    /// An empty one.
    #[must_use]
    pub fn new(person: PersonalConfig) -> Self {
        Self {
            person,
            kept: Mutex::default(),
        }
    }

    /// What Git would obey in a folder.
    pub fn look(&self, folder: &Path) -> Arc<GitAnswer> {
        self.answer(folder, LookStart::Folder)
    }

    /// What Git would obey in a repository: a `.git`, or the folder of a bare one.
    pub fn look_at(&self, git: &Path) -> Arc<GitAnswer> {
        self.answer(git, LookStart::Repository)
    }

    fn answer(&self, path: &Path, start: LookStart) -> Arc<GitAnswer> {
        let key = (path.to_path_buf(), start);
        let kept = lock(&self.kept).get(&key).cloned();
        if let Some(kept) = kept.filter(|kept| kept.is_current()) {
            return kept;
        }
        let answer = Arc::new(match start {
            LookStart::Folder => look(path, &self.person),
            LookStart::Repository => look_at(path, &self.person),
        });
        let mut kept = lock(&self.kept);
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&answer));
        answer
    }
}
