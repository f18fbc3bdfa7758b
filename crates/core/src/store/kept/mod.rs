//! What is too long for a conversation, kept outside of it and read by handle.
//!
//! Models, scripts and clients call such a thing an artifact. It has nothing to do with the Markdown files of that name.

mod disk;
mod look;
mod memory;
mod shelf;

pub use disk::DiskStore;
pub(crate) use look::{Wanted, look};
pub use memory::KeptInMemory;
pub use shelf::Shelf;
pub(crate) use shelf::Shown;

use crate::digest;
use crate::result::ArtifactRef;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of one artifact; what is longer is kept up to here.
pub const MOST_BYTES: u64 = 64 << 20;

/// A handle that nobody can guess, for something of this content.
fn handle(media_type: &str, bytes: u64, content: &blake3::Hash) -> ArtifactRef {
    let digest = format!("blake3:{}", content.to_hex());
    ArtifactRef {
        id: digest::fresh_id("art"),
        media_type: media_type.to_owned(),
        bytes,
        digest,
    }
}

/// Where artifacts are kept. The methods may wait for a disk.
pub trait KeptStore: Send + Sync {
    /// Begins to keep something for a session. Nobody sees it before it is finished.
    fn begin(&self, session: &str, media_type: &str) -> Result<Box<dyn Keeping>, KeptError>;
    /// The artifact of that handle, if this session has it.
    fn find(&self, session: &str, id: &str) -> Result<ArtifactRef, KeptError>;
    /// At most `length` bytes of it, from `offset` on.
    fn read(&self, session: &str, id: &str, offset: u64, length: u64)
    -> Result<Vec<u8>, KeptError>;
    /// All that a session has, the oldest first.
    fn list(&self, session: &str) -> Result<Vec<ArtifactRef>, KeptError>;
    /// Forgets what is too old, and the oldest while there is too much. Stores do so by themselves as they are written to.
    fn collect(&self) -> Result<Collected, KeptError>;
    /// The file in which a person finds it, where there is one.
    fn file(&self, _artifact: &ArtifactRef) -> Option<PathBuf> {
        None
    }
}

/// Something that is being kept. Dropped before it is finished, it leaves nothing behind.
pub trait Keeping: Send {
    /// Adds bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<(), KeptError>;
    /// From now on it can be read.
    fn finish(self: Box<Self>) -> Result<ArtifactRef, KeptError>;
}

/// Why something cannot be kept or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeptError {
    /// This session has no such handle: it never was, it is another session's, or it was forgotten.
    #[error("there is no artifact `{0}` in this session; it may have been forgotten")]
    Unknown(String),
    /// It is longer than all that the store may hold.
    #[error("what is kept may have {0} bytes here, and this has more")]
    TooLarge(u64),
    /// The store itself failed.
    #[error("what is kept cannot be written or read: {0}")]
    Failed(String),
}

/// How much a store holds, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of all artifacts together; each handle counts as some, too.
    pub bytes: u64,
    /// How long one is kept. What is older cannot be read any more, whether it was forgotten yet or not.
    pub age: Duration,
}

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Handles.
    pub artifacts: u64,
    /// Bytes that nobody has a handle of any more.
    pub bytes: u64,
}

impl Bounds {
    /// Refuses what would be forgotten as soon as it is there.
    fn fit(&self, media_type: &str, bytes: u64) -> Result<(), KeptError> {
        let most = self
            .bytes
            .checked_sub(handle_bytes(media_type))
            .ok_or(KeptError::TooLarge(0))?;
        if bytes > most {
            Err(KeptError::TooLarge(most))
        } else {
            Ok(())
        }
    }
}

/// What a handle counts as besides its content, which several may share.
fn handle_bytes(media_type: &str) -> u64 {
    512 + media_type.len() as u64
}

#[cfg(test)]
mod tests;
