//! The private folder for temporary files where no file system can be mounted for it.

use super::SandboxError;
use super::identity::Identity;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that only one command uses; removed when dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn new(identity: &Identity) -> Result<Self, SandboxError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let failed = SandboxError::step::<io::Error>;
        let base = fs::canonicalize(std::env::temp_dir()).map_err(failed("a private temporary folder"))?;
        loop {
            let path = base.join(format!("harness-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let scratch = Self(path);
                    if rustix::process::geteuid().as_raw() != identity.uid {
                        chown(&scratch.0, Some(identity.uid), Some(identity.gid)).map_err(failed("a private temporary folder"))?;
                    }
                    return Ok(scratch);
                }
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                Err(cause) => return Err(failed("a private temporary folder")(cause)),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
