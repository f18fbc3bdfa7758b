//! Counts the allocations of a call, in a separate program because counting slows down what is
//! timed.

use harness_bench::{Report, call::body, rust};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("rust") => rust::count(&mut Report::new("rust"), ALLOCATOR),
        _ => body::count(&mut Report::new("call"), ALLOCATOR),
    }
}
