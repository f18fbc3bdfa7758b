//! What is measured; see docs/benchmarks.md.

fn main() {}
