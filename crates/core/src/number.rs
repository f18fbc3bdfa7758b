//! Numbers as JSON writes them.

/// Whether JSON number text is an integer: neither fraction nor exponent.
#[must_use]
pub fn is_integer(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}
