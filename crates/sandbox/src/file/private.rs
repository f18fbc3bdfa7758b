//! What of a workspace belongs to a person: no tool sees it, whatever its bounds are.

use super::Jail;
use super::error::{FileError, shown};
use super::protected::folded_parts;
use crate::home::Homes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The private places of homes that are in a workspace, or that it is in, looked for when they are
/// first needed.
#[derive(Debug, Default)]
pub(super) struct PrivatePlaces {
    workspace: PathBuf,
    home: Option<PathBuf>,
    state: Option<PathBuf>,
    /// Workspace-relative, in the parts that [`folded_parts`] makes.
    found: OnceLock<Vec<Vec<String>>>,
}

impl PrivatePlaces {
    pub(super) fn new(workspace: &Path, home: Option<&Path>, state: Option<&Path>) -> Self {
        Self {
            workspace: workspace.to_owned(),
            home: home.map(Path::to_owned),
            state: state.map(Path::to_owned),
            found: OnceLock::new(),
        }
    }

    fn found(&self) -> &[Vec<String>] {
        static HOMES: OnceLock<Homes> = OnceLock::new();
        self.found.get_or_init(|| {
            let homes = HOMES.get_or_init(Homes::of_this_machine);
            let real = homes.real(self.home.as_deref());
            let places = real
                .iter()
                .flat_map(|home| homes.private_in(&self.workspace, home));
            let inside = |place: PathBuf| {
                let inside = place.strip_prefix(&self.workspace).ok()?;
                Some(folded_parts(&inside.to_string_lossy()))
            };
            let state = self.state.iter();
            let state = state.flat_map(|state| [fs::canonicalize(state).ok(), Some(state.clone())]);
            places.chain(state.flatten()).filter_map(inside).collect()
        })
    }

    /// Compared as a file system that ignores case would, which can only hide more.
    fn hides(&self, path: &str) -> bool {
        let found = self.found();
        if found.is_empty() {
            return false;
        }
        let parts = folded_parts(path);
        let is_in = |place: &Vec<String>| place == &[""] || parts.starts_with(place);
        found.iter().any(is_in)
    }

    /// Refuses a workspace-relative path that is private.
    pub(super) fn judge(&self, path: &str, given: &str) -> Result<(), FileError> {
        if self.hides(path) {
            Err(FileError::Private(shown(given)))
        } else {
            Ok(())
        }
    }
}

impl Jail {
    /// Whether every path may be read.
    pub(super) fn is_open(&self) -> bool {
        self.bounds.is_open() && self.judged.is_empty() && self.private.found().is_empty()
    }

    /// Whether no tool sees a path.
    pub(super) fn hides(&self, path: &str) -> bool {
        self.bounds.hides(path) || self.private.hides(path)
    }

    /// Whether a path may be read.
    pub(super) fn shows(&self, path: &str) -> bool {
        self.bounds.shows(path) && !self.private.hides(path)
    }

    /// Whether a path leads to something that may be read.
    pub(super) fn leads_on(&self, path: &str) -> bool {
        self.bounds.leads_on(path) && !self.private.hides(path)
    }

    /// Refuses a path that may not be read.
    pub(super) fn judge_read(&self, path: &str, given: &str) -> Result<(), FileError> {
        self.private.judge(path, given)?;
        self.bounds.judge_read(path, given)
    }
}
