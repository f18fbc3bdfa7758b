//! Folders that one harness uses, and those that a killed one left.
//!
//! A lock marks a folder as in use. The kernel releases it when its process ends, however that
//! ends, and it works between processes that cannot see each other, as in two containers.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = "harness-call-";

/// A name that is unique unless another process wants a clash.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(
        "{PREFIX}{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Claims a folder of this user until the result is dropped; `None` if another harness uses it, or
/// it is not such a folder.
pub(crate) fn claim(folder: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let claimed = File::from(open(folder, flags, Mode::empty()).ok()?);
    flock(&claimed, FlockOperation::NonBlockingLockExclusive).ok()?;
    let facts = claimed.metadata().ok()?;
    // Its last owner may have removed it meanwhile, and it may be another one by now.
    let now = fs::symlink_metadata(folder).ok()?;
    let is_same = (facts.dev(), facts.ino()) == (now.dev(), now.ino());
    (is_same && facts.uid() == rustix::process::geteuid().as_raw()).then_some(claimed)
}

/// The folders in `parent` that a harness of this user made and no harness uses any more, claimed.
pub(crate) fn abandoned(parent: &Path) -> Vec<(PathBuf, File)> {
    let named = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    named
        .filter_map(|entry| claim(&entry.path()).map(|claimed| (entry.path(), claimed)))
        .collect()
}

/// Whether [`unique_name`] could have returned this.
fn is_ours(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = name
        .strip_prefix(PREFIX)
        .and_then(|rest| rest.split_once('-'));
    numbers.is_some_and(|(process, count)| is_number(process) && is_number(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_in_use_or_not_ours_is_never_abandoned() {
        let parent = tempfile::tempdir().expect("a folder");
        let at = |name: &str| parent.path().join(name);
        for name in [
            "harness-call-1-0",
            "harness-call-1-1",
            "harness-call-1",
            "harness-call-1-x",
            "harness-call--1",
            "harness-1-0",
        ] {
            fs::create_dir(at(name)).expect("a folder");
        }
        std::os::unix::fs::symlink(at("harness-1-0"), at("harness-call-1-2")).expect("a link");
        fs::write(at("harness-call-1-3"), "").expect("a file");
        let found = || {
            abandoned(parent.path())
                .into_iter()
                .map(|(path, _)| path)
                .collect::<Vec<_>>()
        };
        let used = claim(&at("harness-call-1-1")).expect("claimed");
        assert_eq!(found(), [at("harness-call-1-0")]);
        drop(used);
        assert_eq!(found().len(), 2);
        assert!(is_ours(&unique_name()));
    }
}
