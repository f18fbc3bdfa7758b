//! Stage 4: a call to its result.

mod refusal;

pub use refusal::{Class, Code, Refusal};
