//! Tools written in Rust, through the whole path: no project, no workers.

mod closed;
mod execution;
mod faults;
mod middleware;
mod registry;
mod support;
mod types;
