//! Answers that are kept as long as a new look would give the same.

use super::answer::GitAnswer;
use super::{PersonalConfig, look, look_at};
use crate::lock::lock;
use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Kept answers: the workspaces of a process and the repositories in them.
const MOST_KEPT: usize = 256;

/// Answers, each kept until something it depends on changes.
#[derive(Debug, Default)]
pub struct AnswerCache {
    answers: Mutex<HashMap<LookKey, Arc<GitAnswer>>>,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LookKey {
    path: PathBuf,
    start: LookStart,
    person: PersonalConfig,
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
    /// What Git would obey in a folder; see [`look`].
    pub fn look(&self, folder: &Path, person: &PersonalConfig) -> Arc<GitAnswer> {
        self.answer(folder, LookStart::Folder, person)
    }

    /// What Git would obey in a repository; see [`look_at`].
    pub fn look_at(&self, git: &Path, person: &PersonalConfig) -> Arc<GitAnswer> {
        self.answer(git, LookStart::Repository, person)
    }

    fn answer(&self, path: &Path, start: LookStart, person: &PersonalConfig) -> Arc<GitAnswer> {
        let key = LookKey {
            path: path.to_path_buf(),
            start,
            person: person.clone(),
        };
        let known = lock(&self.answers).get(&key).cloned();
        if let Some(known) = known.filter(|known| known.is_current()) {
            return known;
        }
        let answer = Arc::new(match start {
            LookStart::Folder => look(path, person),
            LookStart::Repository => look_at(path, person),
        });
        keep(&self.answers, key, Arc::clone(&answer));
        answer
    }
}

fn keep<K: Eq + Hash, V>(kept: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut kept = lock(kept);
    if kept.len() >= MOST_KEPT {
        kept.clear();
    }
    kept.insert(key, value);
}
