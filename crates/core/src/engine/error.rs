//! Errors for a broken or misused harness, never for a faulty artifact or call.

use crate::tool::RegisterError;
use std::path::PathBuf;

/// What can go wrong outside artifacts and calls.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no project at this path.
    #[error("no harness project at `{0}`; a project has a `.harness` folder or a `harness.md`")]
    NoProject(PathBuf),
    /// The workspace cannot be opened.
    #[error("cannot open the workspace: {0}")]
    Workspace(String),
    /// The root file is broken; everything but reports stops.
    #[error("{0}")]
    RootBroken(String),
    /// Something still held the project while it was loading.
    #[error("the project was in use while it was being loaded")]
    Loading,
    /// No mode has this name.
    #[error("no mode `{0}`; this project has one mode, `default`")]
    NoMode(String),
    /// A Rust tool cannot be registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// A body was registered twice for a name, or for a name that cannot be offered.
    #[error("{0}")]
    Body(String),
}
