//! One governed call.

pub mod body;
mod fault;
mod listen;
mod script;
mod worker;

use crate::{Report, Samples};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::time::Instant;
use tool_harness::{Arguments, Call, Engine};

/// Measures everything about a call.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    bodies(report)?;
    workers(report)?;
    scripts(report)?;
    faults(report)
}

/// Bodies in Rust.
pub fn bodies(report: &mut Report) -> anyhow::Result<()> {
    body::measure(report)?;
    count_with(report, "call")
}

/// A worker by itself.
pub fn workers(report: &mut Report) -> anyhow::Result<()> {
    worker::measure(report)
}

/// Scripts, hooks and crossings.
pub fn scripts(report: &mut Report) -> anyhow::Result<()> {
    script::measure(report)
}

/// Scripts that do not end.
pub fn faults(report: &mut Report) -> anyhow::Result<()> {
    fault::measure(report)
}

/// Runs the counting program: counting allocations here would slow down what is timed.
pub(crate) fn count_with(report: &mut Report, what: &str) -> anyhow::Result<()> {
    let program = std::env::current_exe()?.with_file_name("count");
    #[expect(
        clippy::disallowed_methods,
        reason = "starts the other program of this package"
    )]
    let output = std::process::Command::new(&program)
        .arg(what)
        .output()
        .with_context(|| format!("cannot start {}", program.display()))?;
    ensure!(
        output.status.success(),
        "{} failed: {}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .for_each(|line| report.adopt(line));
    Ok(())
}

/// A call of the tool under measurement. All calls belong to one run of one session.
fn call(tool: &str, arguments: &Value) -> Call {
    let mut call = Call::new(tool, Arguments::Value(arguments.clone())).session("bench");
    "bench".clone_into(&mut call.run_id);
    call
}

/// The arguments of the tools with three parameters.
fn arguments() -> Value {
    json!({"path": "crates/core/src", "query": "where is file_1 now", "limit": 5})
}

/// Times each of `count` calls, in microseconds, without making the request.
async fn repeat(
    engine: &Engine,
    count: usize,
    tool: &str,
    arguments: &Value,
) -> anyhow::Result<Samples> {
    let mut samples = Samples::default();
    for _ in 0..count {
        let call = call(tool, arguments);
        let started = Instant::now();
        let result = engine.call(call).await;
        samples.push(crate::sample::microseconds(started.elapsed()));
        ensure!(!result.is_error, "`{tool}` failed: {}", result.text());
    }
    Ok(samples)
}

/// Runs in a task on a runtime like the program's, as a server would.
fn on_runtime<T: Send + 'static>(
    work: impl Future<Output = anyhow::Result<T>> + Send + 'static,
) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async { tokio::spawn(work).await? })
}
