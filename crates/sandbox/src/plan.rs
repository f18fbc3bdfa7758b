//! What one call may touch.
//!
//! The harness computes a plan from the layers of policy and narrows it by the tool. Nothing that a model sends changes it.

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
/// Hidden on every machine: homes, `/root`, `/run`, `/tmp` (a private one takes its place), credentials. Read-only on every machine:
/// everything else outside the workspace, and the files that govern calls inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The project, absolute: what governs calls is known by its path from here. The workspace, or a folder around it.
    pub project: PathBuf,
    /// The workspace: an absolute path without links.
    pub workspace: PathBuf,
    /// What may be done in it.
    pub access: Access,
    /// When it may be written: the only places below it that may, absolute and without links; empty means all of it.
    pub only: Vec<PathBuf>,
    /// More places that are hidden, absolute.
    pub hidden: Vec<PathBuf>,
    /// Places inside hidden ones that may be read all the same, absolute and without links: a toolchain in somebody's home.
    pub readable: Vec<PathBuf>,
    /// Places outside the workspace that may be written, absolute and without links.
    pub writable: Vec<PathBuf>,
    /// The home of whoever runs the harness: hidden as all homes are, also where the machine's list of users does not name it.
    pub home: Option<PathBuf>,
}

/// What may be done in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It is not seen.
    Hidden,
    /// It is read.
    Read,
    /// It is read and written.
    Write,
}

/// Which programs may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Programs {
    /// Any that can be seen.
    Any,
    /// These, as absolute paths without links.
    Only(Vec<PathBuf>),
}

/// Which hosts may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Network {
    /// None at all.
    None,
    /// Those of a list.
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
    /// What the private `/tmp` holds.
    pub tmp_bytes: u64,
    /// Bytes of each output stream that are kept in memory, half of them from its start and half from its end.
    pub output_bytes: u64,
    /// Bytes of output after which the processes are killed.
    pub flood_bytes: u64,
}
