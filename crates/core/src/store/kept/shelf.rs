//! What one session keeps. The only way to a store: whatever is written goes through redaction first.

use super::{KeptError, KeptStore, MOST_BYTES};
use crate::isolate::caught;
use crate::redact::{Redactor, Words};
use crate::result::ArtifactRef;
use crate::result::MOST_MEDIA_TYPE;
use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// The artifacts of one session. The methods may wait for a disk; a store that panics is one that failed.
#[derive(Clone)]
pub struct Shelf {
    store: Arc<dyn KeptStore>,
    redactor: Redactor,
    words: Option<Arc<Words>>,
    session: String,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Bytes taken from a reader at once.
const CHUNK: usize = 64 << 10;

impl Shelf {
    pub(crate) fn new(
        store: Arc<dyn KeptStore>,
        redactor: Redactor,
        words: Option<Arc<Words>>,
        session: &str,
    ) -> Self {
        Self {
            store,
            redactor,
            words,
            session: session.to_owned(),
        }
    }

    /// Keeps bytes without their secrets. Of more than [`MOST_BYTES`] the start is kept.
    pub fn write(&self, bytes: &[u8], media_type: &str) -> Result<ArtifactRef, KeptError> {
        Ok(self.write_from(bytes, media_type, 0)?.artifact)
    }

    /// The same for what a reader gives, which is read to its end; what is at its start and end, `half` bytes each, comes back.
    pub(crate) fn write_from(
        &self,
        from: impl Read,
        media_type: &str,
        half: usize,
    ) -> Result<Sample, KeptError> {
        asked(|| self.write_all(from, media_type, half))
    }

    fn write_all(
        &self,
        from: impl Read,
        media_type: &str,
        half: usize,
    ) -> Result<Sample, KeptError> {
        let mut pass = self.redactor.pass(self.words.as_ref());
        let mut media_type = media_type.to_owned();
        pass.string(&mut media_type);
        if media_type.len() > MOST_MEDIA_TYPE {
            media_type = "application/octet-stream".to_owned();
        }
        let mut keeping = self.store.begin(&self.session, &media_type)?;
        let mut room = MOST_BYTES;
        let shown = self.cleaned(from, half, |clean| {
            let fits = usize::try_from(room).unwrap_or(usize::MAX).min(clean.len());
            room -= fits as u64;
            if fits > 0 {
                keeping.write(&clean[..fits])?;
            }
            // Where nobody wants to know how it ends, the rest need not be looked at.
            Ok(half > 0 || room > 0)
        })?;
        let shown = Shown {
            redacted: shown.redacted + pass.count,
            ..shown
        };
        Ok(Sample {
            artifact: keeping.finish()?,
            shown,
        })
    }

    /// How it begins and ends, without its secrets, where it cannot be kept.
    pub(crate) fn show(&self, from: impl Read, half: usize) -> Result<Shown, KeptError> {
        self.cleaned(from, half, |_| Ok(true))
    }

    /// Reads to the end, and passes on what is there without its secrets, until nobody wants more.
    fn cleaned(
        &self,
        mut from: impl Read,
        half: usize,
        mut put: impl FnMut(&[u8]) -> Result<bool, KeptError>,
    ) -> Result<Shown, KeptError> {
        let mut stream = self.redactor.pass(self.words.as_ref()).stream();
        let mut sampled = Sampled {
            half,
            ..Sampled::default()
        };
        let (mut chunk, mut clean) = (vec![0; CHUNK], Vec::new());
        loop {
            let count = from
                .read(&mut chunk)
                .map_err(|problem| KeptError::Failed(problem.to_string()))?;
            clean.clear();
            stream.push(&chunk[..count], &mut clean);
            sampled.take(&clean);
            if !put(&clean)? || count == 0 {
                break;
            }
        }
        clean.clear();
        let redacted = stream.finish(&mut clean);
        sampled.take(&clean);
        put(&clean)?;
        let Sampled {
            head, tail, bytes, ..
        } = sampled;
        Ok(Shown {
            head,
            tail: tail.into(),
            bytes,
            redacted,
        })
    }

    /// The artifact of that handle.
    pub fn find(&self, id: &str) -> Result<ArtifactRef, KeptError> {
        asked(|| self.store.find(&self.session, id))
    }

    /// At most `length` bytes of it, from `offset` on.
    pub fn read(&self, id: &str, offset: u64, length: u64) -> Result<Vec<u8>, KeptError> {
        asked(|| self.store.read(&self.session, id, offset, length))
    }

    /// All of them, the oldest first.
    pub fn list(&self) -> Result<Vec<ArtifactRef>, KeptError> {
        asked(|| self.store.list(&self.session))
    }
}

/// What a store says, which is the host's: one that panics has failed.
fn asked<T>(work: impl FnOnce() -> Result<T, KeptError>) -> Result<T, KeptError> {
    caught(work).unwrap_or_else(|| Err(KeptError::Failed("the store crashed".to_owned())))
}

/// Something that was kept.
pub(crate) struct Sample {
    pub(crate) artifact: ArtifactRef,
    pub(crate) shown: Shown,
}

/// How something begins and ends, without its secrets.
pub(crate) struct Shown {
    /// All of it when it is short enough.
    pub(crate) head: Vec<u8>,
    pub(crate) tail: Vec<u8>,
    /// How long it was, without its secrets; more than an artifact of it when that is cut.
    pub(crate) bytes: u64,
    /// How often something was taken out of it.
    pub(crate) redacted: u64,
}

#[derive(Default)]
struct Sampled {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    bytes: u64,
}

impl Sampled {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let (start, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(start);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }
}
