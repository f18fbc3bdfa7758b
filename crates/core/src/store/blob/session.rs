//! The artifacts of one session. The only way to a store: everything is redacted before it is
//! written.

use super::{BlobError, BlobStore, MAX_BLOB_BYTES};
use crate::isolate::caught;
use crate::redact::{RedactionPatterns, Redactor};
use crate::result::{ArtifactRef, MOST_MEDIA_TYPE};
use std::collections::VecDeque;
use std::fmt;
use std::io::Read;
use std::sync::Arc;

/// The artifacts of one session. The methods may block on a disk. A store that panics is reported
/// as one that failed.
#[derive(Clone)]
pub struct SessionBlobs {
    store: Arc<dyn BlobStore>,
    redactor: Redactor,
    patterns: Option<Arc<RedactionPatterns>>,
    session: String,
}

impl fmt::Debug for SessionBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBlobs")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

/// Bytes taken from a reader at once.
const CHUNK: usize = 64 << 10;

impl SessionBlobs {
    pub(crate) fn new(
        store: Arc<dyn BlobStore>,
        redactor: Redactor,
        patterns: Option<Arc<RedactionPatterns>>,
        session: &str,
    ) -> Self {
        Self {
            store,
            redactor,
            patterns,
            session: session.to_owned(),
        }
    }

    /// Stores bytes without their secrets. Of more than [`MAX_BLOB_BYTES`] the start is stored.
    pub fn write(&self, bytes: &[u8], media_type: &str) -> Result<ArtifactRef, BlobError> {
        Ok(self.write_from(bytes, media_type, 0)?.artifact)
    }

    /// Stores what a reader yields. The preview has up to `half` bytes of its start and of its end.
    pub(crate) fn write_from(
        &self,
        from: impl Read,
        media_type: &str,
        half: usize,
    ) -> Result<StoredBlob, BlobError> {
        guarded(|| self.write_all(from, media_type, half))
    }

    fn write_all(
        &self,
        from: impl Read,
        media_type: &str,
        half: usize,
    ) -> Result<StoredBlob, BlobError> {
        let mut pass = self.redactor.pass(self.patterns.as_ref());
        let mut media_type = media_type.to_owned();
        pass.string(&mut media_type);
        if media_type.len() > MOST_MEDIA_TYPE {
            media_type = "application/octet-stream".to_owned();
        }
        let mut writer = self.store.begin(&self.session, &media_type)?;
        let mut room = MAX_BLOB_BYTES;
        let preview = self.redacted(from, half, |clean| {
            let fits = usize::try_from(room).unwrap_or(usize::MAX).min(clean.len());
            room -= fits as u64;
            if fits > 0 {
                writer.write(&clean[..fits])?;
            }
            // Without a preview the rest need not be read.
            Ok(half > 0 || room > 0)
        })?;
        let preview = Preview {
            redacted: preview.redacted + pass.count,
            ..preview
        };
        Ok(StoredBlob {
            artifact: writer.finish()?,
            preview,
        })
    }

    /// A preview alone, for content that cannot be stored.
    pub(crate) fn preview(&self, from: impl Read, half: usize) -> Result<Preview, BlobError> {
        self.redacted(from, half, |_| Ok(true))
    }

    /// Passes everything on without its secrets, until `put` returns false or the reader ends.
    fn redacted(
        &self,
        mut from: impl Read,
        half: usize,
        mut put: impl FnMut(&[u8]) -> Result<bool, BlobError>,
    ) -> Result<Preview, BlobError> {
        let mut stream = self.redactor.pass(self.patterns.as_ref()).stream();
        let mut preview = PreviewBuilder {
            half,
            ..PreviewBuilder::default()
        };
        let (mut chunk, mut clean) = (vec![0; CHUNK], Vec::new());
        loop {
            let count = from
                .read(&mut chunk)
                .map_err(|problem| BlobError::Failed(problem.to_string()))?;
            clean.clear();
            stream.push(&chunk[..count], &mut clean);
            preview.take(&clean);
            if !put(&clean)? || count == 0 {
                break;
            }
        }
        clean.clear();
        let redacted = stream.finish(&mut clean);
        preview.take(&clean);
        put(&clean)?;
        let PreviewBuilder {
            head, tail, bytes, ..
        } = preview;
        Ok(Preview {
            head,
            tail: tail.into(),
            bytes,
            redacted,
        })
    }

    /// The artifact of that handle.
    pub fn find(&self, id: &str) -> Result<ArtifactRef, BlobError> {
        guarded(|| self.store.find(&self.session, id))
    }

    /// At most `length` bytes of it, from `offset`.
    pub fn read(&self, id: &str, offset: u64, length: u64) -> Result<Vec<u8>, BlobError> {
        guarded(|| self.store.read(&self.session, id, offset, length))
    }

    /// All of them, oldest first.
    pub fn list(&self) -> Result<Vec<ArtifactRef>, BlobError> {
        guarded(|| self.store.list(&self.session))
    }
}

/// Calls into the store, which may be the host's: a panic becomes an error.
fn guarded<T>(work: impl FnOnce() -> Result<T, BlobError>) -> Result<T, BlobError> {
    caught(work).unwrap_or_else(|| Err(BlobError::Failed("the store crashed".to_owned())))
}

/// An artifact that was just stored.
pub(crate) struct StoredBlob {
    pub(crate) artifact: ArtifactRef,
    pub(crate) preview: Preview,
}

/// The start and the end of a content, without its secrets.
pub(crate) struct Preview {
    /// All of the content if it is short enough.
    pub(crate) head: Vec<u8>,
    pub(crate) tail: Vec<u8>,
    /// Bytes of the whole content without its secrets, also when the artifact was cut.
    pub(crate) bytes: u64,
    /// How many secrets were redacted.
    pub(crate) redacted: u64,
}

#[derive(Default)]
struct PreviewBuilder {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    bytes: u64,
}

impl PreviewBuilder {
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
