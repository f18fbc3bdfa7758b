//! Output of built-ins, bounded while it is built.

use std::io;

/// Bytes that one built-in may produce.
pub(super) const MAX_OUTPUT: usize = 64 << 20;

/// Text under construction, bounded by [`MAX_OUTPUT`].
#[derive(Default)]
pub(super) struct Bounded(String);

impl Bounded {
    pub(super) fn push(&mut self, text: &str) -> Result<(), String> {
        fits(self.0.len().checked_add(text.len()))?;
        self.0.push_str(text);
        Ok(())
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// Refuses a size that is unknown or too large.
pub(super) fn fits(bytes: Option<usize>) -> Result<(), String> {
    match bytes {
        Some(bytes) if bytes <= MAX_OUTPUT => Ok(()),
        _ => Err(format!(
            "the result would be larger than {} MiB",
            MAX_OUTPUT >> 20
        )),
    }
}

/// Bytes under construction, for code that writes to [`io::Write`].
#[derive(Default)]
pub(super) struct BoundedBytes(pub(super) Vec<u8>);

impl io::Write for BoundedBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        fits(self.0.len().checked_add(bytes.len())).map_err(io::Error::other)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
