//! Why a command was not run.

use std::io;
use std::path::PathBuf;

/// Why a command was not run. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// This machine cannot contain it.
    #[error("commands cannot be contained here: {0}")]
    NoSandbox(String),
    /// There is no such program.
    #[error("there is no program `{program}` {place}")]
    NotFound {
        /// As it was given.
        program: String,
        /// Where it was looked for.
        place: &'static str,
    },
    /// What has that name is no program.
    #[error("`{program}` cannot be executed: {why}")]
    NotExecutable {
        /// As it was given.
        program: String,
        /// What it is instead.
        why: &'static str,
    },
    /// The plan does not list the program.
    #[error("`{program}` is `{real}`, which is not among the programs that may be executed here", real = .real.display())]
    NotAllowed {
        /// As it was given.
        program: String,
        /// What it is.
        real: PathBuf,
    },
    /// The folder it should start in is not one it may use.
    #[error("`{path}` is no folder a command may start in: the workspace, places the plan names, and `/tmp` are", path = .0.display())]
    BadFolder(PathBuf),
    /// A text that no process can be given.
    #[error("{0} has a null character in it")]
    NullCharacter(&'static str),
    /// The plan names a place that cannot be used.
    #[error("the plan's {what} `{path}` cannot be used: {cause}", path = .path.display())]
    BadPlace {
        /// What it is for.
        what: &'static str,
        /// The place.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The program could not be started inside.
    #[error("cannot start `{program}`: {cause}")]
    Start {
        /// The real program.
        program: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Containing it failed at one step.
    #[error("cannot contain a command ({step}): {cause}")]
    SetUp {
        /// Which step.
        step: &'static str,
        /// What the system said.
        cause: io::Error,
    },
}

impl SandboxError {
    pub(super) fn step<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> Self {
        move |cause| Self::SetUp {
            step,
            cause: cause.into(),
        }
    }
}
