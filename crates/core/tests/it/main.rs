//! Tools written in Rust, through the whole path: no project, no workers.

mod bounds;
mod closed;
mod compared;
mod deep;
mod ends;
mod execution;
mod faults;
mod keys;
mod left;
mod lent;
mod links;
mod middleware;
mod numbers;
mod panics;
mod property;
mod record;
mod registry;
mod sinks;
mod support;
mod types;
