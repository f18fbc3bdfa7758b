//! The private folder for temporary files where no file system can be mounted for it.

use super::SandboxError;
use super::identity::Identity;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown};
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

/// Removes the folders of a harness that was killed: its own user's, by the name and mode that only [`Scratch::new`] gives.
pub(super) fn remove_stale() {
    let own = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let mut numbers = name.to_str().and_then(|name| name.strip_prefix("harness-")).unwrap_or_default().splitn(2, '-');
        let owner = numbers.next().and_then(|number| number.parse::<u32>().ok());
        let is_numbered = numbers.next().is_some_and(|number| number.parse::<u64>().is_ok());
        let is_gone = owner.is_some_and(|owner| !Path::new("/proc").join(owner.to_string()).exists());
        let is_ours =
            entry.metadata().is_ok_and(|facts| facts.is_dir() && facts.mode() & 0o777 == 0o700 && (own == 0 || facts.uid() == own));
        if is_numbered && is_gone && is_ours {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Most commands leave it empty, and then one call is enough.
        if fs::remove_dir(&self.0).is_err() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}
