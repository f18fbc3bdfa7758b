//! The benchmarks. `docs/benchmarks.md` explains the figures.

pub mod call;
pub mod exec;
pub mod hook;
pub mod load;
pub mod mcp;
pub mod project;
mod report;
pub mod rust;
mod sample;
pub mod search;
mod server;
pub mod surface;
mod system;
pub mod validate;

pub use report::Report;
pub use sample::Samples;

/// A benchmark.
pub struct Benchmark {
    /// The argument of `./bench/run`.
    pub name: &'static str,
    /// What it measures.
    pub about: &'static str,
    /// Runs it and adds the figures.
    pub run: fn(&mut Report) -> anyhow::Result<()>,
}

/// Every benchmark.
pub const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "call",
        about: "one governed call: a Rust body, scripts, hooks, crossings, faults",
        run: call::run,
    },
    Benchmark {
        name: "call/body",
        about: "of these, a Rust body",
        run: call::bodies,
    },
    Benchmark {
        name: "call/worker",
        about: "of these, a worker by itself",
        run: call::workers,
    },
    Benchmark {
        name: "call/script",
        about: "of these, scripts, hooks and crossings",
        run: call::scripts,
    },
    Benchmark {
        name: "call/fault",
        about: "of these, scripts that do not end",
        run: call::faults,
    },
    Benchmark {
        name: "exec",
        about: "starting `true`: bare, in each tier, in bwrap",
        run: exec::run,
    },
    Benchmark {
        name: "mcp",
        about: "tools/call over MCP stdio against a bare rmcp server",
        run: mcp::run,
    },
    Benchmark {
        name: "hook",
        about: "one decision about a client's call, cold, and a hundred at once",
        run: hook::run,
    },
    Benchmark {
        name: "load",
        about: "calls a second of `harness mcp` with 1 to 128 in flight, workers started, memory",
        run: load::run,
    },
    Benchmark {
        name: "rust",
        about: "a typed Rust tool: governed, steady, at once, and in TinyAgents",
        run: rust::run,
    },
    Benchmark {
        name: "search",
        about: "the shipped `search_code` in 100,000 files against `rg`",
        run: search::run,
    },
    Benchmark {
        name: "surface",
        about: "checking surfaces, and whether twice as much takes at most twice as long",
        run: surface::run,
    },
    Benchmark {
        name: "validate",
        about: "loading and checking 100, 1,000 and 10,000 tools",
        run: validate::run,
    },
];
