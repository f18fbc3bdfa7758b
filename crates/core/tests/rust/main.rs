//! Tools written in Rust, through the whole path: no project, no workers.

mod closed;
mod compared;
mod execution;
mod faults;
mod keys;
mod middleware;
mod property;
mod registry;
mod support;
mod types;
