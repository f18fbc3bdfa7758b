//! Artifacts on disk: contents by their digest, handles by session.
//!
//! A content is written beside its place, synced and then moved there, so that a name always stands for the whole of it, also after a crash.
//! Several processes may use one folder: whoever adds holds a lock together with others, whoever forgets holds it alone. A link inside of the
//! folder is not followed, and what has no name that the store gives is left alone.

use super::{Bounds, Collected, Keeping, KeptError, KeptStore, handle, handle_bytes};
use crate::digest;
use crate::result::ArtifactRef;
use crate::result::is_artifact_id;
use crate::result::is_hex;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// How long something that is not finished may still be written.
const GRACE: Duration = Duration::from_secs(3600);
/// How often a process looks for what can be forgotten, unless things are kept for less.
const EVERY: Duration = Duration::from_secs(3600);
/// Contents whose digest a process remembers to have checked.
const MOST_CHECKED: usize = 1024;

/// A folder of artifacts. Nothing is made before something is kept.
#[derive(Clone, Debug)]
pub struct DiskStore {
    folder: PathBuf,
    bounds: Bounds,
    /// When this process last looked for what can be forgotten, and the bytes it found or added.
    looked: Arc<Mutex<Option<(SystemTime, u64)>>>,
    /// Contents that this process found to be what their digest says, and which file each of them was.
    checked: Arc<Mutex<HashMap<PathBuf, Version>>>,
}

/// A file as it is: which one, and when anything about it last changed.
type Version = (u64, i64, i64);

impl DiskStore {
    /// The artifacts in this folder: a gigabyte, for a week.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::with_bounds(
            folder,
            Bounds {
                bytes: 1 << 30,
                age: Duration::from_secs(7 * 24 * 3600),
            },
        )
    }

    /// The same with other bounds.
    #[must_use]
    pub fn with_bounds(folder: impl Into<PathBuf>, bounds: Bounds) -> Self {
        Self {
            folder: folder.into(),
            bounds,
            looked: Arc::default(),
            checked: Arc::default(),
        }
    }

    /// A digest in place of the id, whose characters are a client's choice.
    fn session_folder(&self, session: &str) -> PathBuf {
        self.folder
            .join("sessions")
            .join(&blake3::hash(session.as_bytes()).to_hex()[..32])
    }

    #[cfg(test)]
    pub(super) fn session_folder_of(&self, session: &str) -> PathBuf {
        self.session_folder(session)
    }

    fn entry(&self, session: &str, id: &str) -> Result<PathBuf, KeptError> {
        if is_artifact_id(id) {
            Ok(self.session_folder(session).join(id))
        } else {
            Err(KeptError::Unknown(id.to_owned()))
        }
    }

    fn content(&self, digest: &str) -> Option<PathBuf> {
        let hex = digest
            .strip_prefix("blake3:")
            .filter(|hex| is_hex(hex, 64))?;
        Some(self.folder.join("contents").join(&hex[..2]).join(hex))
    }

    /// Whether what was kept then may not be read any more.
    fn is_old(&self, at: SystemTime) -> bool {
        at.elapsed().is_ok_and(|age| age > self.bounds.age)
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

    /// Looks for what can be forgotten when it is time, or when there may be too much.
    fn tidy(&self, added: u64) {
        {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((when, bytes)) = &mut *looked {
                *bytes += added;
                if *bytes <= self.bounds.bytes
                    && when
                        .elapsed()
                        .is_ok_and(|since| since < EVERY.min(self.bounds.age))
                {
                    return;
                }
            }
        }
        // What was added is there, whatever becomes of the rest; the next that is added looks again.
        let _ = self.collect();
    }

    /// Forgets as of a moment: every handle and every content is looked at once. What cannot be removed, such as a folder that somebody made
    /// here, is passed over: it must not keep the rest from being forgotten.
    pub(super) fn collect_at(&self, now: SystemTime) -> io::Result<Collected> {
        let lock = self.lock()?;
        lock.lock()?;
        let older =
            |at: SystemTime, than: Duration| now.duration_since(at).is_ok_and(|age| age > than);
        let mut collected = Collected::default();
        let mut handles = Vec::new();
        for session in named(&self.folder.join("sessions"), |name| is_hex(name, 32)) {
            for entry in named(&session, is_artifact_id) {
                let Ok(at) = modified(&entry) else { continue };
                let known = read_entry(&entry)
                    .ok()
                    .filter(|_| !older(at, self.bounds.age));
                match known.and_then(|artifact| Some((self.content(&artifact.digest)?, artifact))) {
                    Some((place, artifact)) => handles.push((at, entry, place, artifact)),
                    None => collected.artifacts += u64::from(fs::remove_file(&entry).is_ok()),
                }
            }
            // A folder with something in it stays.
            let _ = fs::remove_dir(session);
        }
        handles.sort_by_key(|(at, ..)| *at);
        // How many handles each content has.
        let (mut held, mut total) = (HashMap::<&Path, u64>::new(), 0);
        for (_, _, place, artifact) in &handles {
            let count = held.entry(place).or_default();
            *count += 1;
            total +=
                handle_bytes(&artifact.media_type) + if *count == 1 { artifact.bytes } else { 0 };
        }
        // Where there is too much, a little more goes, so that what is written next needs no look at everything.
        let most = if total > self.bounds.bytes {
            self.bounds.bytes - self.bounds.bytes / 8
        } else {
            self.bounds.bytes
        };
        for (index, (_, entry, place, artifact)) in handles.iter().enumerate() {
            // The newest stays if it can.
            let most = if index + 1 == handles.len() {
                self.bounds.bytes
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
            let count = held.entry(place).or_default();
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
            // Nothing is on its way to a handle while the lock is held alone.
            let is_held = held.get(content.as_path()).is_some_and(|count| *count > 0);
            if !is_held && fs::remove_file(&content).is_ok() {
                collected.bytes += metadata.len();
            }
        }
        for left in named(&self.folder.join("new"), |name| name.starts_with("new_")) {
            if modified(&left).is_ok_and(|at| older(at, GRACE)) {
                let _ = fs::remove_file(left);
            }
        }
        *self.looked.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((SystemTime::now(), total));
        Ok(collected)
    }

    /// Moves a finished content to its place, and its handle. What is in its place already may have been changed since: what was written now is it.
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
        // Written before the content is moved: where there is no room for it, no content without a handle stays behind.
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

    /// Makes a folder of the store, and those around it.
    fn own_folder(&self, path: &Path) -> io::Result<()> {
        let inside: Vec<&Path> = path
            .ancestors()
            .take_while(|folder| *folder != self.folder)
            .collect();
        for folder in inside.into_iter().rev() {
            private_folder(folder)?;
            if !is_folder(folder) {
                return Err(io::Error::other(format!(
                    "`{}` is a link in the place of a folder",
                    folder.display()
                )));
            }
        }
        Ok(())
    }

    /// Whether a file holds what its digest says. It is read for that when it is new to this process, or was changed.
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

impl KeptStore for DiskStore {
    fn begin(&self, session: &str, media_type: &str) -> Result<Box<dyn Keeping>, KeptError> {
        self.bounds.fit(media_type, 0)?;
        // Also where there is no room: what is too old may be what takes it.
        self.tidy(0);
        let (file, path) = self.temporary().map_err(failed)?;
        let (session, media_type) = (session.to_owned(), media_type.to_owned());
        Ok(Box::new(Writing {
            store: self.clone(),
            session,
            media_type,
            file,
            path,
            bytes: 0,
            hasher: blake3::Hasher::new(),
        }))
    }

    fn find(&self, session: &str, id: &str) -> Result<ArtifactRef, KeptError> {
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
    ) -> Result<Vec<u8>, KeptError> {
        let artifact = self.find(session, id)?;
        let place = self
            .content(&artifact.digest)
            .ok_or_else(|| KeptError::Unknown(id.to_owned()))?;
        let read = || {
            let mut file = File::open(&place)?;
            if !self.is_whole(&mut file, &place, &artifact)? {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("the content of `{id}` is not whole any more"),
                ));
            }
            file.seek(SeekFrom::Start(offset.min(artifact.bytes)))?;
            let mut bytes = Vec::new();
            file.take(length).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|problem| unknown_or_failed(&problem, id))
    }

    fn list(&self, session: &str) -> Result<Vec<ArtifactRef>, KeptError> {
        let found = named(&self.session_folder(session), is_artifact_id).into_iter();
        let mut found: Vec<_> = found
            .filter_map(|path| Some((modified(&path).ok()?, read_entry(&path).ok()?)))
            .collect();
        found.retain(|(at, _)| !self.is_old(*at));
        found.sort_by(|(at, a), (other, b)| (at, &a.id).cmp(&(other, &b.id)));
        Ok(found.into_iter().map(|(_, artifact)| artifact).collect())
    }

    fn collect(&self) -> Result<Collected, KeptError> {
        self.collect_at(SystemTime::now()).map_err(failed)
    }

    fn file(&self, artifact: &ArtifactRef) -> Option<PathBuf> {
        self.content(&artifact.digest)
    }
}

struct Writing {
    store: DiskStore,
    session: String,
    media_type: String,
    file: File,
    path: PathBuf,
    bytes: u64,
    hasher: blake3::Hasher,
}

impl Keeping for Writing {
    fn write(&mut self, bytes: &[u8]) -> Result<(), KeptError> {
        self.bytes += bytes.len() as u64;
        self.store.bounds.fit(&self.media_type, self.bytes)?;
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(failed)
    }

    fn finish(self: Box<Self>) -> Result<ArtifactRef, KeptError> {
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

impl Drop for Writing {
    fn drop(&mut self) {
        // Gone already when it was finished.
        let _ = fs::remove_file(&self.path);
    }
}

/// A folder that only its owner may enter.
fn private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether it is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// What a folder has of such names.
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

fn failed(problem: io::Error) -> KeptError {
    KeptError::Failed(problem.to_string())
}

fn unknown_or_failed(problem: &io::Error, id: &str) -> KeptError {
    match problem.kind() {
        io::ErrorKind::NotFound => KeptError::Unknown(id.to_owned()),
        _ => KeptError::Failed(problem.to_string()),
    }
}
