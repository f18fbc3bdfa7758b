//! What one call may touch.
//!
//! The harness computes a plan from the layers of policy and narrows it by the tool. Nothing that a
//! model sends changes it.

use crate::network::Domains;
use std::path::PathBuf;
use std::time::Duration;

/// What the processes of one call may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Files and folders.
    pub files: Files,
    /// Programs that may be executed.
    pub programs: Programs,
    /// Hosts that may be reached.
    pub network: Network,
    /// The whole environment: a process gets these variables and no others.
    pub environment: Vec<(String, String)>,
    /// How much it may use.
    pub limits: Limits,
}

/// Which files a process sees, and which it may change.
///
/// Hidden on every machine: homes, `/root`, `/run`, `/tmp` (a private one takes its place),
/// credentials. Read-only on every machine: everything else outside the workspace, and the files
/// inside it that are protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The project, absolute: the workspace, or a folder around it. Protected names are relative to
    /// it.
    pub project: PathBuf,
    /// The workspace: an absolute path without links.
    pub workspace: PathBuf,
    /// What may be done in it.
    pub access: Access,
    /// The only places below the workspace that may be written, absolute and without links; empty
    /// means all of it.
    pub only: Vec<PathBuf>,
    /// More hidden places, absolute.
    pub hidden: Vec<PathBuf>,
    /// Readable places inside hidden ones, absolute and without links: a toolchain in a home.
    pub readable: Vec<PathBuf>,
    /// Writable places outside the workspace, absolute and without links.
    pub writable: Vec<PathBuf>,
    /// Places that are never written, absolute, whatever else makes them or what is around them
    /// writable.
    pub read_only: Vec<PathBuf>,
    /// The home of the user who runs the harness: hidden like all homes, even if `/etc/passwd` does
    /// not list it.
    pub home: Option<PathBuf>,
}

/// What may be done in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It is invisible.
    Hidden,
    /// It may be read.
    Read,
    /// It may be read and written.
    Write,
}

/// Which programs may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Any that is visible.
    Any,
    /// These, as absolute paths without links.
    Only(Vec<PathBuf>),
}

/// Which hosts may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// None.
    None,
    /// The hosts of a list.
    Allowed(Domains),
}

/// How much the processes of one call may use together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall-clock time.
    pub deadline: Duration,
    /// Memory.
    pub memory_bytes: u64,
    /// Processor time.
    pub cpu: Duration,
    /// Processes and threads at once.
    pub processes: u64,
    /// The largest file that may be written.
    pub file_bytes: u64,
    /// The size of the private `/tmp`.
    pub tmp_bytes: u64,
    /// Bytes of each output stream kept in memory, half from its start and half from its end.
    pub output_bytes: u64,
    /// Bytes of output after which the processes are killed.
    pub flood_bytes: u64,
}
