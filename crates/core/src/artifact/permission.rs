//! `permissions` of tools and hooks: what they may touch, only ever less than their project.

use crate::span::Span;
use tool_harness_sandbox::plan::Access;

/// One entry of `permissions`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// What it is about.
    pub kind: PermissionKind,
    /// Its place.
    pub span: Span,
}

/// What an entry of `permissions` is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PermissionKind {
    /// Files: a place of the workspace, as a relative path without `..`, and what may be done
    /// there.
    Filesystem {
        /// What may be done.
        access: Access,
        /// Where; `.` is the workspace.
        path: String,
    },
    /// Programs, by name or path.
    Shell {
        /// The only ones that may be executed.
        programs: Vec<String>,
    },
    /// Hosts.
    Network {
        /// The only ones that may be reached; entries that
        /// [`tool_harness_sandbox::network::Domains`] reads.
        hosts: Vec<String>,
    },
    /// Something that concerns people alone.
    Custom,
}
