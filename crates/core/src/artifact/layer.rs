//! The files above a project: what a machine's administrator and a user decide for all their
//! projects.

use super::Root;
use crate::diagnostic::Diagnostic;
use std::fmt;

/// Whose policy a file holds. A lower authority cannot reopen what a higher one denies or narrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Authority {
    /// The machine: `/etc/harness/harness.md`.
    Machine,
    /// The user: `harness/harness.md` in the folder of their settings.
    User,
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "machine",
            Self::User => "user",
        })
    }
}

/// One file above a project.
#[derive(Clone, Debug)]
pub struct LayerFile {
    /// Its authority.
    pub authority: Authority,
    /// Its settings.
    pub root: Root,
    /// Its first error, which stops everything: unreadable policy may have forbidden anything.
    pub broken: Option<Diagnostic>,
}
