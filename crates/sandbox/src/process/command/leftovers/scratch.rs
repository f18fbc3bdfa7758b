//! The private folder for temporary files, if no file system can be mounted for it.

use super::claim::{abandoned, claim, unique_name};
use super::pending::{self, Leftover, LeftoverFolder};
use crate::process::command::SandboxError;
use crate::process::command::files::identity::Identity;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a login shell reads in its home after `/etc/profile`.
pub(crate) const PROFILE: &str = ".profile";
/// The command's folder in the harness's.
const INNER: &str = "tmp";

/// A folder that only one command uses; removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The harness's own, so that no other process can replace what is in it.
    outer: PathBuf,
    /// The command's.
    inner: PathBuf,
    /// Until it is removed.
    _leftover: Leftover,
}

impl Scratch {
    /// Writes this text as its `.profile`, for login shells that use the folder as their home.
    pub(crate) fn new(identity: &Identity, profile: Option<&str>) -> Result<Self, SandboxError> {
        Self::make(identity, profile).map_err(SandboxError::step("a private temporary folder"))
    }

    fn make(identity: &Identity, profile: Option<&str>) -> io::Result<Self> {
        let base = fs::canonicalize(std::env::temp_dir())?;
        loop {
            let outer = base.join(unique_name());
            match fs::DirBuilder::new().mode(0o711).create(&outer) {
                Ok(()) => {}
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(cause) => return Err(cause),
            }
            // Another harness may have found it before it was claimed.
            let Some(claimed) = claim(&outer) else {
                continue;
            };
            let folder = LeftoverFolder {
                path: outer.clone(),
                claimed: Arc::new(claimed),
            };
            let scratch = Self {
                inner: outer.join(INNER),
                outer,
                _leftover: Leftover::of(Some(folder)),
            };
            fs::DirBuilder::new().mode(0o700).create(&scratch.inner)?;
            if let Some(text) = profile {
                fs::write(scratch.inner.join(PROFILE), text)?;
            }
            if rustix::process::geteuid().as_raw() != identity.uid {
                chown(&scratch.inner, Some(identity.uid), Some(identity.gid))?;
            }
            return Ok(scratch);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.inner
    }
}

/// Removes the folders of a killed harness.
pub(crate) fn remove_stale() {
    for (path, claimed) in abandoned(&std::env::temp_dir()) {
        if !is_removed(&path, &path.join(INNER)) {
            pending::remove(&LeftoverFolder {
                path,
                claimed: Arc::new(claimed),
            });
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !is_removed(&self.outer, &self.inner) {
            let _ = fs::remove_dir_all(&self.outer);
        }
    }
}

/// Most commands leave it nearly empty, and then a few calls are enough.
fn is_removed(outer: &Path, inner: &Path) -> bool {
    let _ = fs::remove_file(inner.join(PROFILE));
    let _ = fs::remove_dir(inner);
    fs::remove_dir(outer).is_ok()
}
