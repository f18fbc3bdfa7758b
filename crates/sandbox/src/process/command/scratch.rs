//! The private folder for temporary files where no file system can be mounted for it.

use super::SandboxError;
use super::claim::{abandoned, claim, name};
use super::identity::Identity;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};

/// What a login shell reads in its home after the machine's `/etc/profile`.
pub(super) const PROFILE: &str = ".profile";

/// A folder that only one command uses; removed when dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    /// The harness's own, so that nobody else can put something in its place.
    outer: PathBuf,
    /// The command's.
    inner: PathBuf,
    _claimed: File,
}

impl Scratch {
    /// With this text as its `.profile`, for login shells that take the folder for their home.
    pub(super) fn new(identity: &Identity, profile: Option<&str>) -> Result<Self, SandboxError> {
        Self::make(identity, profile).map_err(SandboxError::step("a private temporary folder"))
    }

    fn make(identity: &Identity, profile: Option<&str>) -> io::Result<Self> {
        let base = fs::canonicalize(std::env::temp_dir())?;
        loop {
            let outer = base.join(name());
            match fs::DirBuilder::new().mode(0o711).create(&outer) {
                Ok(()) => {}
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(cause) => return Err(cause),
            }
            // Another harness may have met it before it was claimed.
            let Some(claimed) = claim(&outer) else { continue };
            let scratch = Self { inner: outer.join("tmp"), outer, _claimed: claimed };
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

    pub(super) fn path(&self) -> &Path {
        &self.inner
    }
}

/// Removes the folders of a harness that was killed.
pub(super) fn remove_stale() {
    for (folder, _claimed) in abandoned(&std::env::temp_dir()) {
        let _ = fs::remove_dir_all(folder);
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Most commands leave it nearly empty, and then a few calls are enough.
        let _ = fs::remove_file(self.inner.join(PROFILE));
        if fs::remove_dir(&self.inner).is_err() || fs::remove_dir(&self.outer).is_err() {
            let _ = fs::remove_dir_all(&self.outer);
        }
    }
}
