//! Everything that touches the world for a tool. The only crate with `unsafe` code, and the only
//! one that starts processes.

#[path = "../helper/fold.rs"]
mod fold;

pub mod file;
pub mod git;
pub mod home;
mod lock;
pub mod network;
pub mod plan;
pub mod process;
pub mod tier;
