//! What calls leave on the machine while they run, and removing it.

pub(crate) mod claim;
pub(crate) mod pending;
pub(crate) mod scratch;
