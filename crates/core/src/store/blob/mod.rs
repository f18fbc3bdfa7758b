//! Long results and other artifacts, stored outside the conversation and read by handle.
//!
//! Models, scripts and clients say "artifact". These have nothing to do with the Markdown files of
//! [`crate::artifact`].

mod disk;
mod excerpt;
mod memory;
mod session;

pub use disk::DiskBlobs;
pub(crate) use excerpt::BlobQuery;
pub use memory::MemoryBlobs;
pub(crate) use session::Preview;
pub use session::SessionBlobs;

use crate::digest;
use crate::result::ArtifactRef;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of one artifact. Of longer content the start is stored.
pub const MAX_BLOB_BYTES: u64 = 64 << 20;

/// An artifact with this content and a handle that cannot be guessed.
fn handle(media_type: &str, bytes: u64, content: &blake3::Hash) -> ArtifactRef {
    let digest = format!("blake3:{}", content.to_hex());
    ArtifactRef {
        id: digest::fresh_id("art"),
        media_type: media_type.to_owned(),
        bytes,
        digest,
    }
}

/// Where artifacts are stored. The methods may block on a disk.
pub trait BlobStore: Send + Sync {
    /// Begins an artifact of a session. It cannot be read before [`BlobWriter::finish`].
    fn begin(&self, session: &str, media_type: &str) -> Result<Box<dyn BlobWriter>, BlobError>;
    /// The artifact of that handle, if it belongs to this session.
    fn find(&self, session: &str, id: &str) -> Result<ArtifactRef, BlobError>;
    /// At most `length` bytes of it, from `offset`.
    fn read(&self, session: &str, id: &str, offset: u64, length: u64)
    -> Result<Vec<u8>, BlobError>;
    /// All artifacts of a session, oldest first.
    fn list(&self, session: &str) -> Result<Vec<ArtifactRef>, BlobError>;
    /// Removes expired artifacts, then the oldest until the rest fits the limits. Stores also do
    /// this by themselves when something is written.
    fn collect(&self) -> Result<GcStats, BlobError>;
    /// The file that holds it, if the store has files.
    fn file(&self, _artifact: &ArtifactRef) -> Option<PathBuf> {
        None
    }
}

/// An artifact that is being written. Dropped before `finish`, it leaves nothing behind.
pub trait BlobWriter: Send {
    /// Appends bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<(), BlobError>;
    /// Makes it readable.
    fn finish(self: Box<Self>) -> Result<ArtifactRef, BlobError>;
}

/// Why an artifact cannot be stored or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// This session has no such handle: it never existed, was removed, or belongs to another
    /// session.
    #[error("there is no artifact `{0}` in this session; it may have expired")]
    Unknown(String),
    /// It is longer than the whole store may be.
    #[error("an artifact may have at most {0} bytes here, and this one has more")]
    TooLarge(u64),
    /// The store itself failed.
    #[error("the artifact store failed: {0}")]
    Failed(String),
}

/// How much a store holds, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct BlobLimits {
    /// Bytes of all artifacts together, including a fixed charge for each handle.
    pub bytes: u64,
    /// How long an artifact can be read, whether or not it has been removed yet.
    pub age: Duration,
}

/// What [`BlobStore::collect`] removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GcStats {
    /// Handles.
    pub artifacts: u64,
    /// Bytes of contents without a handle.
    pub bytes: u64,
}

impl BlobLimits {
    /// Refuses what would be removed as soon as it was stored.
    fn fit(&self, media_type: &str, bytes: u64) -> Result<(), BlobError> {
        let most = self
            .bytes
            .checked_sub(handle_bytes(media_type))
            .ok_or(BlobError::TooLarge(0))?;
        if bytes > most {
            Err(BlobError::TooLarge(most))
        } else {
            Ok(())
        }
    }
}

/// The charge for a handle. Its content is charged apart, since several handles may share one.
fn handle_bytes(media_type: &str) -> u64 {
    512 + media_type.len() as u64
}

#[cfg(test)]
mod tests;
