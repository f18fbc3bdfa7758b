//! Identifying files, and caching folder listings by what the kernel knows about them.

use crate::lock::lock;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Identifies the file at a path. An inode number can be reused; then the creation time, or the
/// change time, differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp {
    mount: u64,
    device: (u32, u32),
    inode: u64,
    time: (i64, u32),
    /// Not zero for a stamp that equals no other.
    unlike: u64,
}

/// Which time identifies a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StampTime {
    /// When it was created, if known.
    Created,
    /// When it, or its content, changed.
    Changed,
}

impl FileStamp {
    /// The stamp of a file, whatever it contains.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Self::and_kind(path).map(|(stamp, _)| stamp)
    }

    /// The same, and the type of the file.
    pub(crate) fn and_kind(path: &Path) -> Option<(Self, FileType)> {
        Self::by(path, StampTime::Created)
    }

    /// The stamp of a folder with its content. The kernel's clock is coarse: a folder that changed
    /// a moment ago can change again without a new time.
    fn of_content(path: &Path) -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (mut stamp, _) = Self::by(path, StampTime::Changed)?;
        if !stamp.is_settled() {
            stamp.unlike = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        Some(stamp)
    }

    fn by(path: &Path, time: StampTime) -> Option<(Self, FileType)> {
        let wanted = StatxFlags::INO
            | StatxFlags::BTIME
            | StatxFlags::CTIME
            | StatxFlags::MNT_ID
            | StatxFlags::TYPE;
        let facts = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let has_birth = StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::BTIME);
        let time = if has_birth && time == StampTime::Created {
            facts.stx_btime
        } else {
            facts.stx_ctime
        };
        let device = (facts.stx_dev_major, facts.stx_dev_minor);
        let stamp = Self {
            mount: facts.stx_mnt_id,
            device,
            inode: facts.stx_ino,
            time: (time.tv_sec, time.tv_nsec),
            unlike: 0,
        };
        Some((stamp, FileType::from_raw_mode(facts.stx_mode.into())))
    }

    fn is_settled(&self) -> bool {
        const LONG_AGO: Duration = Duration::from_millis(50);
        let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) else {
            return false;
        };
        let then = Duration::new(
            u64::try_from(self.time.0).unwrap_or(0),
            self.time.1.min(999_999_999),
        );
        now.checked_sub(then).is_some_and(|age| age > LONG_AGO)
    }
}

/// The entries of a folder.
pub(crate) type FolderEntries = Arc<[(PathBuf, fs::FileType)]>;

/// Folder listings, read again only after a change.
#[derive(Debug, Default)]
pub(crate) struct FolderCache {
    known: Mutex<HashMap<PathBuf, (FileStamp, FolderEntries)>>,
}

impl FolderCache {
    /// The entries of a folder, sorted, and the stamp that identifies this listing.
    pub(crate) fn of(&self, folder: &Path) -> (FolderEntries, Option<FileStamp>) {
        /// How many folders to cache, and the most entries of one.
        const MOST: usize = 64;
        const MOST_ENTRIES: usize = 4096;
        let stamp = FileStamp::of_content(folder);
        let known = || lock(&self.known);
        if let (Some(now), Some((then, entries))) = (&stamp, known().get(folder))
            && now == then
        {
            return (entries.clone(), stamp);
        }
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut entries: Vec<_> = entries
            .filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)))
            .collect();
        entries.sort_by(|one, other| one.0.cmp(&other.0));
        let entries = FolderEntries::from(entries);
        if let Some(stamp) = stamp
            .clone()
            .filter(|stamp| stamp.unlike == 0 && entries.len() <= MOST_ENTRIES)
        {
            let mut known = known();
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(folder.to_path_buf(), (stamp, entries.clone()));
        }
        (entries, stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::sleep;

    #[test]
    fn a_folder_is_read_again_when_something_came_went_or_was_replaced() {
        let (folder_cache, place) = (
            FolderCache::default(),
            tempfile::tempdir().expect("a folder"),
        );
        let at = |name: &str| place.path().join(name);
        let names = || {
            folder_cache
                .of(place.path())
                .0
                .iter()
                .map(|(path, _)| path.file_name().expect("a name").to_owned())
                .collect::<Vec<_>>()
        };
        let stamp = || folder_cache.of(place.path()).1;
        fs::write(at("one"), "").expect("a file");
        assert_ne!(stamp(), stamp(), "it changed a moment ago");
        for settled in [true, false] {
            let wait_for_cleanup = || sleep(Duration::from_millis(if settled { 80 } else { 0 }));
            wait_for_cleanup();
            assert_eq!(names(), ["one"]);
            let before = stamp();
            assert_eq!(before == stamp(), settled);
            fs::write(at("two"), "").expect("a file");
            assert_eq!(names(), ["one", "two"]);
            assert_ne!(before, stamp());
            wait_for_cleanup();
            let before = stamp();
            fs::rename(at("two"), at("one")).expect("replaced");
            assert_eq!(names(), ["one"]);
            assert_ne!(before, stamp());
        }
    }
}
