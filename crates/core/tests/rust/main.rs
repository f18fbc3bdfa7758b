//! Tools written in Rust, through the whole path: no project, no workers.

mod bounds;
mod closed;
mod compared;
mod execution;
mod faults;
mod middleware;
mod property;
mod registry;
mod support;
mod types;
