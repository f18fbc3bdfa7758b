//! What flows to a command and from it.

pub(crate) mod capture;
pub(crate) mod pipes;
pub(crate) mod text;
