//! Script workers as the harness sees them.

pub mod protocol;
pub mod wire;
