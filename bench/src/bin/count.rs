//! Counts the allocations of a call. A program of its own, because counting slows down whatever is timed.

use harness_bench::{Report, call::body};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> anyhow::Result<()> {
    body::count(&mut Report::new("call"), ALLOCATOR)
}
