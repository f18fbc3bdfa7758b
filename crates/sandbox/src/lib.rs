//! Everything that touches the world for a tool. The only `unsafe` code and the only process start.

pub mod file;
pub mod network;
pub mod plan;
pub mod process;
pub mod tier;
