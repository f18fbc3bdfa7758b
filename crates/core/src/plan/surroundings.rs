//! What the program tells the library about its environment; the library reads none itself.

use crate::isolate::caught;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

type Read = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Where the program runs: a home and variables. Processes get `PATH`, `LANG`, and the variables
/// that the user's or the machine's file lists.
#[derive(Clone)]
pub struct Surroundings {
    /// The user's home, whose toolchains processes may read.
    pub home: Option<PathBuf>,
    /// Where the program keeps what belongs to it, for all projects. No process and no script sees
    /// it.
    pub state: Option<PathBuf>,
    read: Read,
}

impl Surroundings {
    /// A home and a way to read variables.
    pub fn new(
        home: Option<PathBuf>,
        read: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            home,
            state: None,
            read: Arc::new(read),
        }
    }

    /// The same, with the folder where the program keeps what belongs to it.
    #[must_use]
    pub fn keeping(mut self, state: Option<PathBuf>) -> Self {
        self.state = state;
        self
    }

    /// The value of a variable; `None` if the host's reader panics.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        caught(|| (self.read)(name)).flatten()
    }
}

impl Default for Surroundings {
    /// No home and no variables.
    fn default() -> Self {
        Self::new(None, |_| None)
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}
