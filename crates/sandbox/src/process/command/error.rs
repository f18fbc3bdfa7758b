//! Why a command was not run.

use std::io;
use std::path::{Path, PathBuf};

/// Why a command was not run. Nothing of it ran.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine cannot contain it.
    #[error("commands cannot be contained here: {0}")]
    NoSandbox(String),
    /// There is no such program.
    #[error("program `{program}` not found: {why}")]
    NotFound {
        /// As given.
        program: String,
        /// Why it is not found.
        why: &'static str,
    },
    /// The file is not a program.
    #[error("`{program}` cannot be executed: {why}")]
    NotExecutable {
        /// As given.
        program: String,
        /// What it is instead.
        why: &'static str,
    },
    /// The plan does not list the program.
    #[error("`{program}` is `{real}`, which is not an allowed program", real = .real.display())]
    NotAllowed {
        /// As given.
        program: String,
        /// The real path.
        real: PathBuf,
    },
    /// The command may not start in this folder.
    #[error("a command may not start in `{path}`; it may start in the workspace, in places the plan names, and in `/tmp`", path = .0.display())]
    BadFolder(PathBuf),
    /// A text that cannot be passed to a process.
    #[error("{0} contains a null character")]
    NullCharacter(&'static str),
    /// The plan names a place that cannot be used.
    #[error("the plan's {what} `{path}` cannot be used: {cause}", path = .path.display())]
    BadPlace {
        /// What it is for.
        what: &'static str,
        /// The place.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The program could not be started inside.
    #[error("cannot start `{program}`: {cause}")]
    Start {
        /// The real program.
        program: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A step of the set-up failed.
    #[error("cannot contain a command ({step}): {cause}")]
    SetUp {
        /// Which step.
        step: &'static str,
        /// The system's error.
        cause: io::Error,
    },
}

impl SandboxError {
    pub(super) fn bad_place(what: &'static str, path: &Path, cause: io::Error) -> Self {
        let path = path.to_path_buf();
        Self::BadPlace { what, path, cause }
    }

    pub(super) fn step<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::SetUp {
            step,
            cause: cause.into(),
        }
    }
}
