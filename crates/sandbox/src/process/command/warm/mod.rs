//! Containers made ahead, so that the next command starts at once.

pub(crate) mod pool;
pub(crate) mod stamp;
