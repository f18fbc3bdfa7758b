//! The files above a project: what a machine's administrator and a user decide for every project of theirs.

use super::Root;
use crate::diagnostic::Diagnostic;
use std::fmt;

/// For whom a file with policy speaks. What a higher one denies or narrows, no lower one opens again.
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

/// One such file.
#[derive(Clone, Debug)]
pub struct LayerFile {
    /// Whose it is.
    pub authority: Authority,
    /// What it says.
    pub root: Root,
    /// Its first error, which stops everything: policy that cannot be read may have forbidden anything.
    pub broken: Option<Diagnostic>,
}
