//! Paths in buffers of fixed size: this program allocates nothing.

use super::{ENAMETOOLONG, Failure};

/// The longest path the kernel takes, with its final null.
pub(super) const LONGEST: usize = 4096;

/// A path that ends with null.
pub(super) struct Text {
    bytes: [u8; LONGEST],
    length: usize,
}

impl Text {
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; LONGEST],
            length: 0,
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    pub(super) fn address(&self) -> u64 {
        self.bytes.as_ptr() as u64
    }

    /// The address of what follows the first bytes.
    pub(super) fn address_from(&self, at: usize) -> u64 {
        self.address() + at.min(self.length) as u64
    }

    /// The whole buffer, for the kernel to fill.
    pub(super) fn space(&mut self) -> &mut [u8; LONGEST] {
        &mut self.bytes
    }

    /// Sets how much of the buffer was filled.
    pub(super) fn filled(&mut self, length: usize) -> Result<(), Failure> {
        if length >= LONGEST {
            return Err(ENAMETOOLONG);
        }
        self.length = length;
        self.bytes[length] = 0;
        Ok(())
    }

    pub(super) fn set(&mut self, parts: &[&[u8]]) -> Result<(), Failure> {
        self.filled(0)?;
        parts.iter().try_for_each(|part| self.push(part))
    }

    pub(super) fn push(&mut self, part: &[u8]) -> Result<(), Failure> {
        let end = self.length + part.len();
        if end >= LONGEST {
            return Err(ENAMETOOLONG);
        }
        self.bytes[self.length..end].copy_from_slice(part);
        self.filled(end)
    }

    pub(super) fn push_number(&mut self, number: u32) -> Result<(), Failure> {
        let mut digits = [0_u8; 10];
        let mut at = digits.len();
        let mut left = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.push(&digits[at..])
    }

    /// Exchanges two texts.
    pub(super) fn swap(&mut self, other: &mut Self) {
        // Only what is used: copying whole buffers would take longer than most calls.
        let length = self.length.max(other.length) + 1;
        self.bytes[..length].swap_with_slice(&mut other.bytes[..length]);
        core::mem::swap(&mut self.length, &mut other.length);
    }

    /// Where the last component starts, and where it ends without the slashes after it.
    pub(super) fn last(&self) -> (usize, usize) {
        let bytes = self.bytes();
        let end = bytes
            .iter()
            .rposition(|&byte| byte != b'/')
            .map_or(0, |at| at + 1);
        let start = bytes[..end]
            .iter()
            .rposition(|&byte| byte == b'/')
            .map_or(0, |at| at + 1);
        (start, end)
    }
}

/// A number in decimal digits at the start of a text, and what follows it.
pub(super) fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits == 0 || digits > 9 {
        return None;
    }
    let value = text[..digits]
        .iter()
        .fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
    Some((value, &text[digits..]))
}
