//! Artifacts on disk: contents by digest, handles by session.
//!
//! A content is written to a temporary file, synced and renamed, so that after a crash a name still
//! stands for the whole content. Several processes may use one folder: writers share a lock, the
//! garbage collector holds it exclusively. The store follows no link inside its folder and leaves
//! files alone whose names it did not choose.

use super::{BlobError, BlobLimits, BlobStore, BlobWriter, GcStats, handle, handle_bytes};
use crate::digest;
use crate::result::{ArtifactRef, is_artifact_id, is_hex};
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long an unfinished artifact may still be written.
const GRACE: Duration = Duration::from_secs(3600);
/// How often a process collects garbage, unless artifacts expire sooner.
const EVERY: Duration = Duration::from_secs(3600);
/// Contents whose digest a process remembers having verified.
const MOST_CHECKED: usize = 1024;

/// A folder of artifacts. It is created when the first one is stored.
#[derive(Clone, Debug)]
pub struct DiskBlobs {
    folder: PathBuf,
    limits: BlobLimits,
    /// When this process last collected garbage, and the bytes it found or added since.
    collected: Arc<Mutex<Option<(SystemTime, u64)>>>,
    /// Contents whose digest this process verified, with the version of the file.
    checked: Arc<Mutex<HashMap<PathBuf, Version>>>,
}

/// The inode of a file and the time of its last change.
type Version = (u64, i64, i64);

impl DiskBlobs {
    /// The artifacts in this folder: at most a gigabyte, for a week.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::with_limits(
            folder,
            BlobLimits {
                bytes: 1 << 30,
                age: Duration::from_secs(7 * 24 * 3600),
            },
        )
    }

    /// The artifacts in this folder, with other limits.
    #[must_use]
    pub fn with_limits(folder: impl Into<PathBuf>, limits: BlobLimits) -> Self {
        Self {
            folder: folder.into(),
            limits,
            collected: Arc::default(),
            checked: Arc::default(),
        }
    }

    /// Named after a digest, since a client chooses the characters of the id.
    fn session_folder(&self, session: &str) -> PathBuf {
        self.folder
            .join("sessions")
            .join(&blake3::hash(session.as_bytes()).to_hex()[..32])
    }

    #[cfg(test)]
    pub(super) fn session_folder_of(&self, session: &str) -> PathBuf {
        self.session_folder(session)
    }

    fn entry(&self, session: &str, id: &str) -> Result<PathBuf, BlobError> {
        if is_artifact_id(id) {
            Ok(self.session_folder(session).join(id))
        } else {
            Err(BlobError::Unknown(id.to_owned()))
        }
    }

    fn content(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest
            .strip_prefix("blake3:")
            .filter(|hex| is_hex(hex, 64))?;
        Some(self.folder.join("contents").join(&hex[..2]).join(hex))
    }

    /// Whether an artifact of that time has expired.
    fn is_old(&self, at: SystemTime) -> bool {
        at.elapsed().is_ok_and(|age| age > self.limits.age)
    }

    fn lock(&self) -> io::Result<File> {
        private_folder(&self.folder)?;
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join("lock"))
    }

    /// Collects garbage if it is time to, or if there may be too much.
    fn tidy(&self, added: u64) {
        {
            let mut collected = self
                .collected
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if let Some((when, bytes)) = &mut *collected {
                *bytes += added;
                if *bytes <= self.limits.bytes
                    && when
                        .elapsed()
                        .is_ok_and(|since| since < EVERY.min(self.limits.age))
                {
                    return;
                }
            }
        }
        // A failure does not concern what was just added; the next write tries again.
        let _ = self.collect();
    }

    /// Collects garbage as of a moment, visiting each handle and each content once. It skips what
    /// it cannot remove, such as a folder that a person created here.
    pub(super) fn collect_at(&self, now: SystemTime) -> io::Result<GcStats> {
        let lock = self.lock()?;
        lock.lock()?;
        let older =
            |at: SystemTime, than: Duration| now.duration_since(at).is_ok_and(|age| age > than);
        let mut collected = GcStats::default();
        let mut handles = Vec::new();
        for session in named(&self.folder.join("sessions"), |name| is_hex(name, 32)) {
            for entry in named(&session, is_artifact_id) {
                let Ok(at) = modified(&entry) else { continue };
                let known = read_entry(&entry)
                    .ok()
                    .filter(|_| !older(at, self.limits.age));
                match known.and_then(|artifact| Some((self.content(&artifact.digest)?, artifact))) {
                    Some((place, artifact)) => handles.push((at, entry, place, artifact)),
                    None => collected.artifacts += u64::from(fs::remove_file(&entry).is_ok()),
                }
            }
            // Fails if the folder is not empty.
            let _ = fs::remove_dir(session);
        }
        handles.sort_by_key(|(at, ..)| *at);
        // How many handles each content has.
        let (mut users, mut total) = (HashMap::<&Path, u64>::new(), 0);
        for (_, _, place, artifact) in &handles {
            let count = users.entry(place).or_default();
            *count += 1;
            total +=
                handle_bytes(&artifact.media_type) + if *count == 1 { artifact.bytes } else { 0 };
        }
        // Removes some more than it must, so that the next writes need no collection.
        let most = if total > self.limits.bytes {
            self.limits.bytes - self.limits.bytes / 8
        } else {
            self.limits.bytes
        };
        for (index, (_, entry, place, artifact)) in handles.iter().enumerate() {
            // The newest stays if it fits.
            let most = if index + 1 == handles.len() {
                self.limits.bytes
            } else {
                most
            };
            if total <= most {
                break;
            }
            if fs::remove_file(entry).is_err() {
                continue;
            }
            collected.artifacts += 1;
            let count = users.entry(place).or_default();
            *count -= 1;
            total -=
                handle_bytes(&artifact.media_type) + if *count == 0 { artifact.bytes } else { 0 };
        }
        let folders = named(&self.folder.join("contents"), |name| is_hex(name, 2));
        for content in folders
            .iter()
            .flat_map(|folder| named(folder, |name| is_hex(name, 64)))
        {
            let Ok(metadata) = fs::symlink_metadata(&content) else {
                continue;
            };
            // No writer is between a content and its handle while the lock is exclusive.
            let is_used = users.get(content.as_path()).is_some_and(|count| *count > 0);
            if !is_used && fs::remove_file(&content).is_ok() {
                collected.bytes += metadata.len();
            }
        }
        for left in named(&self.folder.join("new"), |name| name.starts_with("new_")) {
            if modified(&left).is_ok_and(|at| older(at, GRACE)) {
                let _ = fs::remove_file(left);
            }
        }
        *self
            .collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some((SystemTime::now(), total));
        Ok(collected)
    }

    /// Moves a finished content into place, then its handle. It replaces an equal content, which
    /// may have been damaged since.
    fn commit(&self, session: &str, temporary: &Path, artifact: &ArtifactRef) -> io::Result<()> {
        let lock = self.lock()?;
        lock.lock_shared()?;
        let place = self
            .content(&artifact.digest)
            .ok_or(io::ErrorKind::InvalidInput)?;
        let contents = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let handles = self.session_folder(session);
        self.own_folder(contents)?;
        self.own_folder(&handles)?;
        // Written before the content is moved: on a full disk, no content stays without a handle.
        let (mut entry, handle) = self.temporary()?;
        let text = artifact.to_json().to_string();
        let written = entry
            .write_all(text.as_bytes())
            .and_then(|()| entry.sync_data());
        let moved = written
            .and_then(|()| fs::rename(temporary, &place))
            .and_then(|()| File::open(contents)?.sync_all());
        moved
            .and_then(|()| fs::rename(&handle, handles.join(&artifact.id)))
            .inspect_err(|_| drop(fs::remove_file(&handle)))
    }

    fn temporary(&self) -> io::Result<(File, PathBuf)> {
        let folder = self.folder.join("new");
        self.own_folder(&folder)?;
        let path = folder.join(digest::fresh_id("new"));
        Ok((
            OpenOptions::new()
                .create_new(true)
                .write(true)
                .mode(0o600)
                .open(&path)?,
            path,
        ))
    }

    /// Creates a folder of the store and its parents.
    fn own_folder(&self, path: &Path) -> io::Result<()> {
        let inside: Vec<&Path> = path
            .ancestors()
            .take_while(|folder| *folder != self.folder)
            .collect();
        for folder in inside.into_iter().rev() {
            private_folder(folder)?;
            if !is_folder(folder) {
                return Err(io::Error::other(format!(
                    "`{}` is a link, not a folder",
                    folder.display()
                )));
            }
        }
        Ok(())
    }

    /// Whether a file matches its digest. Reads it only if it changed or is new to this process.
    fn is_whole(&self, file: &mut File, place: &Path, artifact: &ArtifactRef) -> io::Result<bool> {
        let metadata = file.metadata()?;
        if metadata.len() != artifact.bytes {
            return Ok(false);
        }
        let version = (metadata.ino(), metadata.ctime(), metadata.ctime_nsec());
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if checked().get(place) == Some(&version) {
            return Ok(true);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut *file)?;
        if format!("blake3:{}", hasher.finalize().to_hex()) != artifact.digest {
            return Ok(false);
        }
        let mut checked = checked();
        if checked.len() >= MOST_CHECKED {
            checked.clear();
        }
        checked.insert(place.to_owned(), version);
        Ok(true)
    }
}

impl BlobStore for DiskBlobs {
    fn begin(&self, session: &str, media_type: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.limits.fit(media_type, 0)?;
        // First of all, since expired artifacts may be what fills the disk.
        self.tidy(0);
        let (file, path) = self.temporary().map_err(failed)?;
        let (session, media_type) = (session.to_owned(), media_type.to_owned());
        Ok(Box::new(DiskWriter {
            store: self.clone(),
            session,
            media_type,
            file,
            path,
            bytes: 0,
            hasher: blake3::Hasher::new(),
        }))
    }

    fn find(&self, session: &str, id: &str) -> Result<ArtifactRef, BlobError> {
        let entry = self.entry(session, id)?;
        let read = || {
            if self.is_old(modified(&entry)?) {
                Err(io::ErrorKind::NotFound.into())
            } else {
                read_entry(&entry)
            }
        };
        read().map_err(|problem| unknown_or_failed(&problem, id))
    }

    fn read(
        &self,
        session: &str,
        id: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, BlobError> {
        let artifact = self.find(session, id)?;
        let place = self
            .content(&artifact.digest)
            .ok_or_else(|| BlobError::Unknown(id.to_owned()))?;
        let read = || {
            let mut file = File::open(&place)?;
            if !self.is_whole(&mut file, &place, &artifact)? {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the content of `{id}` is damaged"),
                ));
            }
            file.seek(SeekFrom::Start(offset.min(artifact.bytes)))?;
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|problem| unknown_or_failed(&problem, id))
    }

    fn list(&self, session: &str) -> Result<Vec<ArtifactRef>, BlobError> {
        let found = named(&self.session_folder(session), is_artifact_id).into_iter();
        let mut found: Vec<_> = found
            .filter_map(|path| Some((modified(&path).ok()?, read_entry(&path).ok()?)))
            .collect();
        found.retain(|(at, _)| !self.is_old(*at));
        found.sort_by(|(at, a), (other, b)| (at, &a.id).cmp(&(other, &b.id)));
        Ok(found.into_iter().map(|(_, artifact)| artifact).collect())
    }

    fn collect(&self) -> Result<GcStats, BlobError> {
        self.collect_at(SystemTime::now()).map_err(failed)
    }

    fn file(&self, artifact: &ArtifactRef) -> Option<PathBuf> {
        self.content(&artifact.digest)
    }
}

struct DiskWriter {
    store: DiskBlobs,
    session: String,
    media_type: String,
    file: File,
    path: PathBuf,
    bytes: u64,
    hasher: blake3::Hasher,
}

impl BlobWriter for DiskWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.bytes += bytes.len() as u64;
        self.store.limits.fit(&self.media_type, self.bytes)?;
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(failed)
    }

    fn finish(self: Box<Self>) -> Result<ArtifactRef, BlobError> {
        let artifact = handle(&self.media_type, self.bytes, &self.hasher.finalize());
        self.file.sync_data().map_err(failed)?;
        self.store
            .commit(&self.session, &self.path, &artifact)
            .map_err(failed)?;
        self.store
            .tidy(handle_bytes(&artifact.media_type) + artifact.bytes);
        Ok(artifact)
    }
}

impl Drop for DiskWriter {
    fn drop(&mut self) {
        // Fails if the artifact was finished.
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates a folder that only its owner may enter.
fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether it is a folder and not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// The entries of a folder whose names the store chose.
fn named(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    if !is_folder(folder) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_str().is_some_and(&is_ours))
        .map(|entry| entry.path())
        .collect()
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::symlink_metadata(path)?.modified()
}

fn read_entry(path: &Path) -> io::Result<ArtifactRef> {
    let entry: Value = serde_json::from_slice(&fs::read(path)?)?;
    let text = |key: &str| {
        entry
            .get(key)
            .and_then(Value::as_str)
            .map(str::to_owned)
            .ok_or(io::ErrorKind::InvalidData)
    };
    let bytes = entry
        .get("bytes")
        .and_then(Value::as_u64)
        .ok_or(io::ErrorKind::InvalidData)?;
    Ok(ArtifactRef {
        id: text("id")?,
        media_type: text("media_type")?,
        bytes,
        digest: text("digest")?,
    })
}

fn failed(problem: io::Error) -> BlobError {
    BlobError::Failed(problem.to_string())
}

fn unknown_or_failed(problem: &io::Error, id: &str) -> BlobError {
    match problem.kind() {
        io::ErrorKind::NotFound => BlobError::Unknown(id.to_owned()),
        _ => BlobError::Failed(problem.to_string()),
    }
}
