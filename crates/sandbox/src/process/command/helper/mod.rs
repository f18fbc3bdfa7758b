//! The harness's side of the helper that every contained command starts as: starting it, and the
//! system calls it is told to make.

pub(crate) mod block;
pub(crate) mod filter;
#[path = "../../../../helper/layout.rs"]
pub(crate) mod layout;
pub(crate) mod network;
pub(crate) mod network_namespace;
pub(crate) mod processors;
pub(crate) mod programs;
pub(crate) mod scheduling;
pub(crate) mod start;
