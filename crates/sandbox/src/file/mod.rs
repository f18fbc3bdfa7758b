//! The file jail.

use std::path::Path;

/// A folder that paths cannot leave.
#[derive(Debug)]
pub struct Jail {}

/// Why a file operation was refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Not there.
    #[error("`{0}` does not exist")]
    NotFound(String),
}

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link (only in listings: opening one follows it inside the jail).
    Link,
    /// Anything else: never opened.
    Other,
}

/// Facts about a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Modification time, milliseconds since 1970.
    pub modified_ms: i64,
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its facts.
    pub stat: Stat,
}

impl Jail {
    /// Opens the jail at `root`.
    pub fn open(_root: &Path) -> Result<Self, FileError> {
        Ok(Self {})
    }

    /// The bytes of a regular file, refused when there are more than `max`.
    pub fn read(&self, path: &str, _max: u64) -> Result<Vec<u8>, FileError> {
        Err(FileError::NotFound(path.into()))
    }

    /// Replaces or creates a file in one step; says whether it was created. Parents are created.
    pub fn write(&self, path: &str, _bytes: &[u8]) -> Result<bool, FileError> {
        Err(FileError::NotFound(path.into()))
    }

    /// Adds to the end of a file, creating it when needed.
    pub fn append(&self, path: &str, _bytes: &[u8]) -> Result<(), FileError> {
        Err(FileError::NotFound(path.into()))
    }

    /// Facts about a path; `None` when nothing is there.
    pub fn stat(&self, _path: &str) -> Result<Option<Stat>, FileError> {
        Ok(None)
    }

    /// The entries of a directory, by name; refused when there are more than `max`.
    pub fn list(&self, path: &str, _max: usize) -> Result<Vec<Entry>, FileError> {
        Err(FileError::NotFound(path.into()))
    }

    /// Regular files below the root whose workspace-relative path matches a glob (`**` crosses directories), sorted; at most `max`
    /// results and a bounded number of directories looked at. Links are not followed.
    pub fn glob(&self, pattern: &str, _max: usize) -> Result<Vec<String>, FileError> {
        Err(FileError::NotFound(pattern.into()))
    }

    /// Creates a directory and its parents; fine when it is there already.
    pub fn mkdir(&self, path: &str) -> Result<(), FileError> {
        Err(FileError::NotFound(path.into()))
    }

    /// Removes a file, a link, or an empty directory; with `recursive`, a directory and what is in it (never following links).
    pub fn remove(&self, path: &str, _recursive: bool) -> Result<(), FileError> {
        Err(FileError::NotFound(path.into()))
    }

    /// Copies a regular file.
    pub fn copy(&self, from: &str, _to: &str) -> Result<(), FileError> {
        Err(FileError::NotFound(from.into()))
    }

    /// Renames within the jail.
    pub fn rename(&self, from: &str, _to: &str) -> Result<(), FileError> {
        Err(FileError::NotFound(from.into()))
    }
}
