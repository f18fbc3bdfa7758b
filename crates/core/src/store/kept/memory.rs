//! Artifacts in memory: for as long as the engine lives.

use super::{Bounds, Collected, Keeping, KeptError, KeptStore, handle, handle_bytes};
use crate::result::ArtifactRef;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What an embedding program gets unless it says otherwise.
#[derive(Clone, Debug)]
pub struct KeptInMemory {
    bounds: Bounds,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The oldest first.
    entries: VecDeque<Entry>,
    /// How many were there before each handle's.
    places: HashMap<String, u64>,
    /// How many were forgotten.
    gone: u64,
    /// The same content is there once.
    contents: HashMap<String, Arc<[u8]>>,
    /// Of contents and handles.
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
    /// What the handle takes, without its content.
    fn weight(&self) -> u64 {
        handle_bytes(&self.artifact.media_type) + self.session.len() as u64
    }

    fn is_old(&self, bounds: Bounds) -> bool {
        self.at.elapsed() > bounds.age
    }
}

impl Default for KeptInMemory {
    fn default() -> Self {
        Self::new(Bounds {
            bytes: 256 << 20,
            age: Duration::from_secs(24 * 3600),
        })
    }
}

impl KeptInMemory {
    /// One with these bounds.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            kept: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        session: &str,
        id: &str,
        take: impl FnOnce(&Entry) -> T,
    ) -> Result<T, KeptError> {
        let kept = self.lock();
        let place = kept
            .places
            .get(id)
            .and_then(|place| usize::try_from(place - kept.gone).ok());
        let found = place
            .and_then(|place| kept.entries.get(place))
            .filter(|entry| entry.session == session && !entry.is_old(self.bounds));
        found
            .map(take)
            .ok_or_else(|| KeptError::Unknown(id.to_owned()))
    }
}

impl Kept {
    fn forget_oldest(&mut self) -> u64 {
        let Some(entry) = self.entries.pop_front() else {
            return 0;
        };
        self.places.remove(&entry.artifact.id);
        self.gone += 1;
        self.bytes -= entry.weight();
        // Its own handle and the list of contents are all that hold it.
        if Arc::strong_count(&entry.content) > 2 {
            return 0;
        }
        self.contents.remove(&entry.artifact.digest);
        self.bytes -= entry.artifact.bytes;
        entry.artifact.bytes
    }

    fn collect(&mut self, bounds: Bounds) -> Collected {
        let mut collected = Collected::default();
        while self
            .entries
            .front()
            .is_some_and(|entry| self.bytes > bounds.bytes || entry.is_old(bounds))
        {
            collected.bytes += self.forget_oldest();
            collected.artifacts += 1;
        }
        collected
    }
}

impl KeptStore for KeptInMemory {
    fn begin(&self, session: &str, media_type: &str) -> Result<Box<dyn Keeping>, KeptError> {
        self.bounds.fit(media_type, session.len() as u64)?;
        let (session, media_type) = (session.to_owned(), media_type.to_owned());
        Ok(Box::new(Growing {
            store: self.clone(),
            session,
            media_type,
            content: Vec::new(),
        }))
    }

    fn find(&self, session: &str, id: &str) -> Result<ArtifactRef, KeptError> {
        self.with(session, id, |entry| entry.artifact.clone())
    }

    fn read(
        &self,
        session: &str,
        id: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, KeptError> {
        self.with(session, id, |entry| {
            let at = |place: u64| {
                usize::try_from(place)
                    .unwrap_or(usize::MAX)
                    .min(entry.content.len())
            };
            entry.content[at(offset)..at(offset.saturating_add(length))].to_vec()
        })
    }

    fn list(&self, session: &str) -> Result<Vec<ArtifactRef>, KeptError> {
        let kept = self.lock();
        let own = kept
            .entries
            .iter()
            .filter(|entry| entry.session == session && !entry.is_old(self.bounds));
        Ok(own.map(|entry| entry.artifact.clone()).collect())
    }

    fn collect(&self) -> Result<Collected, KeptError> {
        Ok(self.lock().collect(self.bounds))
    }
}

struct Growing {
    store: KeptInMemory,
    session: String,
    media_type: String,
    content: Vec<u8>,
}

impl Keeping for Growing {
    fn write(&mut self, bytes: &[u8]) -> Result<(), KeptError> {
        self.store.bounds.fit(
            &self.media_type,
            (self.session.len() + self.content.len() + bytes.len()) as u64,
        )?;
        self.content.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArtifactRef, KeptError> {
        let Self {
            store,
            session,
            media_type,
            content,
        } = *self;
        let artifact = handle(&media_type, content.len() as u64, &blake3::hash(&content));
        let mut kept = store.lock();
        let content = match kept.contents.get(&artifact.digest) {
            Some(known) => Arc::clone(known),
            None => {
                let content: Arc<[u8]> = content.into();
                kept.contents
                    .insert(artifact.digest.clone(), Arc::clone(&content));
                kept.bytes += artifact.bytes;
                content
            }
        };
        let place = kept.gone + kept.entries.len() as u64;
        kept.places.insert(artifact.id.clone(), place);
        let entry = Entry {
            session,
            artifact: artifact.clone(),
            content,
            at: Instant::now(),
        };
        kept.bytes += entry.weight();
        kept.entries.push_back(entry);
        kept.collect(store.bounds);
        Ok(artifact)
    }
}
