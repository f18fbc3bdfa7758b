//! Artifacts in memory. They live as long as the engine.

use super::{BlobError, BlobLimits, BlobStore, BlobWriter, GcStats, handle, handle_bytes};
use crate::result::ArtifactRef;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The default store of an embedding program.
#[derive(Clone, Debug)]
pub struct MemoryBlobs {
    limits: BlobLimits,
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    /// Oldest first.
    entries: VecDeque<Entry>,
    /// How many entries were added before the one of each handle.
    places: HashMap<String, u64>,
    /// How many entries were removed.
    gone: u64,
    /// By digest, so that equal contents are stored once.
    contents: HashMap<String, Arc<[u8]>>,
    /// Bytes of contents and handles.
    bytes: u64,
}

#[derive(Debug)]
struct Entry {
    session: String,
    artifact: ArtifactRef,
    content: Arc<[u8]>,
    at: Instant,
}

impl Entry {
    /// The charge for the handle, without its content.
    fn weight(&self) -> u64 {
        handle_bytes(&self.artifact.media_type) + self.session.len() as u64
    }

    fn is_old(&self, limits: BlobLimits) -> bool {
        self.at.elapsed() > limits.age
    }
}

impl Default for MemoryBlobs {
    fn default() -> Self {
        Self::new(BlobLimits {
            bytes: 256 << 20,
            age: Duration::from_secs(24 * 3600),
        })
    }
}

impl MemoryBlobs {
    /// A store with these limits.
    #[must_use]
    pub fn new(limits: BlobLimits) -> Self {
        Self {
            limits,
            table: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        session: &str,
        id: &str,
        take: impl FnOnce(&Entry) -> T,
    ) -> Result<T, BlobError> {
        let table = self.lock();
        let place = table
            .places
            .get(id)
            .and_then(|place| usize::try_from(place - table.gone).ok());
        let found = place
            .and_then(|place| table.entries.get(place))
            .filter(|entry| entry.session == session && !entry.is_old(self.limits));
        found
            .map(take)
            .ok_or_else(|| BlobError::Unknown(id.to_owned()))
    }
}

impl Table {
    fn remove_oldest(&mut self) -> u64 {
        let Some(entry) = self.entries.pop_front() else {
            return 0;
        };
        self.places.remove(&entry.artifact.id);
        self.gone += 1;
        self.bytes -= entry.weight();
        // Another handle shares the content: besides this entry and `contents` someone holds it.
        if Arc::strong_count(&entry.content) > 2 {
            return 0;
        }
        self.contents.remove(&entry.artifact.digest);
        self.bytes -= entry.artifact.bytes;
        entry.artifact.bytes
    }

    fn collect(&mut self, limits: BlobLimits) -> GcStats {
        let mut collected = GcStats::default();
        while self
            .entries
            .front()
            .is_some_and(|entry| self.bytes > limits.bytes || entry.is_old(limits))
        {
            collected.bytes += self.remove_oldest();
            collected.artifacts += 1;
        }
        collected
    }
}

impl BlobStore for MemoryBlobs {
    fn begin(&self, session: &str, media_type: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.limits.fit(media_type, session.len() as u64)?;
        let (session, media_type) = (session.to_owned(), media_type.to_owned());
        Ok(Box::new(MemoryWriter {
            store: self.clone(),
            session,
            media_type,
            content: Vec::new(),
        }))
    }

    fn find(&self, session: &str, id: &str) -> Result<ArtifactRef, BlobError> {
        self.with(session, id, |entry| entry.artifact.clone())
    }

    fn read(
        &self,
        session: &str,
        id: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, BlobError> {
        self.with(session, id, |entry| {
            let at = |place: u64| {
                usize::try_from(place)
                    .unwrap_or(usize::MAX)
                    .min(entry.content.len())
            };
            entry.content[at(offset)..at(offset.saturating_add(length))].to_vec()
        })
    }

    fn list(&self, session: &str) -> Result<Vec<ArtifactRef>, BlobError> {
        let table = self.lock();
        let own = table
            .entries
            .iter()
            .filter(|entry| entry.session == session && !entry.is_old(self.limits));
        Ok(own.map(|entry| entry.artifact.clone()).collect())
    }

    fn collect(&self) -> Result<GcStats, BlobError> {
        Ok(self.lock().collect(self.limits))
    }
}

struct MemoryWriter {
    store: MemoryBlobs,
    session: String,
    media_type: String,
    content: Vec<u8>,
}

impl BlobWriter for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.store.limits.fit(
            &self.media_type,
            (self.session.len() + self.content.len() + bytes.len()) as u64,
        )?;
        self.content.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArtifactRef, BlobError> {
        let Self {
            store,
            session,
            media_type,
            content,
        } = *self;
        let artifact = handle(&media_type, content.len() as u64, &blake3::hash(&content));
        let mut table = store.lock();
        let content = match table.contents.get(&artifact.digest) {
            Some(known) => Arc::clone(known),
            None => {
                let content: Arc<[u8]> = content.into();
                table
                    .contents
                    .insert(artifact.digest.clone(), Arc::clone(&content));
                table.bytes += artifact.bytes;
                content
            }
        };
        let place = table.gone + table.entries.len() as u64;
        table.places.insert(artifact.id.clone(), place);
        let entry = Entry {
            session,
            artifact: artifact.clone(),
            content,
            at: Instant::now(),
        };
        table.bytes += entry.weight();
        table.entries.push_back(entry);
        table.collect(store.limits);
        Ok(artifact)
    }
}
