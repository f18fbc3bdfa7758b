//! A Rust body for a tool file without a script: three parameters, no hooks.

use super::listen::{Counter, Stages};
use super::{arguments, call, on_runtime, repeat};
use crate::project::{Project, RUST_TOOL};
use crate::{Report, Samples};
use anyhow::ensure;
use serde_json::{Value, json};
use stats_alloc::{Region, StatsAlloc};
use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;
use tool_harness::event::Sink;
use tool_harness::{Call, Engine, EngineBuilder};

const TOOL: &str = "find_things";
const WARM_UP: usize = 2_000;
const CALLS: usize = 20_000;

fn project() -> anyhow::Result<Project> {
    let project = Project::new()?;
    project.root("---\ntools_policy:\n  deny: [\"exec.*\"]\npolicy:\n  side_effect_level: workspace_write\n---\nA project.\n")?;
    project.tool(TOOL, RUST_TOOL)?;
    Ok(project)
}

async fn engine(project: &Project, sinks: Vec<Arc<dyn Sink>>) -> anyhow::Result<Engine> {
    let builder = EngineBuilder::new(project.path()).body(TOOL, |arguments: Value| async move {
        Ok(json!({"found": arguments["limit"]}))
    });
    let engine = sinks
        .into_iter()
        .fold(builder, EngineBuilder::sink)
        .load()
        .await?;
    ensure!(
        engine.is_valid(),
        "the project has errors: {:?}",
        engine.diagnostics()
    );
    Ok(engine)
}

pub(super) fn measure(report: &mut Report) -> anyhow::Result<()> {
    let project = Arc::new(project()?);
    let (silent, heard, stages) = on_runtime({
        let project = Arc::clone(&project);
        async move {
            let silent = times(&engine(&project, Vec::new()).await?).await?;
            let heard = times(&engine(&project, vec![Arc::new(Counter::default())]).await?).await?;
            let stages = Arc::new(Stages::default());
            let engine = engine(&project, vec![stages.clone()]).await?;
            repeat(&engine, WARM_UP, TOOL, &arguments()).await?;
            stages.clear();
            repeat(&engine, CALLS, TOOL, &arguments()).await?;
            Ok((silent, heard, stages))
        }
    })?;
    report.add_samples("Rust body, no sink", &silent.times(1000.0), "ns");
    report.add_samples("Rust body, one sink", &heard.times(1000.0), "ns");
    report.add(
        "Rust body, one sink / no sink",
        heard.median() / silent.median(),
        "ratio",
    );
    stages.report(report, "Rust body");
    let single = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let single = single.block_on(async { times(&engine(&project, Vec::new()).await?).await })?;
    report.add_samples(
        "Rust body, no sink, runtime of one thread",
        &single.times(1000.0),
        "ns",
    );
    let task = on_runtime(async { Ok(empty_task().await) })?;
    report.add(
        "an empty task, spawned and awaited, median",
        task.median() * 1000.0,
        "ns",
    );
    let made = Samples::of(CALLS, || {
        drop(black_box(Call::new(
            TOOL,
            tool_harness::Arguments::Value(Value::Null),
        )))
    });
    report.add(
        "a Call with its three fresh ids, median",
        made.median() * 1000.0,
        "ns",
    );
    Ok(())
}

async fn times(engine: &Engine) -> anyhow::Result<Samples> {
    repeat(engine, WARM_UP, TOOL, &arguments()).await?;
    repeat(engine, CALLS, TOOL, &arguments()).await
}

/// The cost of isolating a body in a task.
async fn empty_task() -> Samples {
    let mut samples = Samples::default();
    for _ in 0..CALLS {
        let started = std::time::Instant::now();
        let _ = tokio::spawn(async { black_box(1) }).await;
        samples.push(crate::sample::microseconds(started.elapsed()));
    }
    samples
}

/// Counts the allocations of one call, exactly because the runtime has one thread.
pub fn count(report: &mut Report, allocator: &'static StatsAlloc<System>) -> anyhow::Result<()> {
    const COUNTED: usize = 1_000;
    let project = project()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for (case, sinks) in [
        ("no sink", Vec::new()),
        (
            "one sink",
            vec![Arc::new(Counter::default()) as Arc<dyn Sink>],
        ),
    ] {
        let (allocations, bytes) = runtime.block_on(async {
            let engine = engine(&project, sinks).await?;
            repeat(&engine, WARM_UP, TOOL, &arguments()).await?;
            let calls: Vec<Call> = (0..COUNTED).map(|_| call(TOOL, &arguments())).collect();
            let mut results = Vec::with_capacity(COUNTED);
            let region = Region::new(allocator);
            for call in calls {
                results.push(engine.call(call).await);
            }
            let change = region.change();
            ensure!(
                results.iter().all(|result| !result.is_error),
                "a call failed"
            );
            Ok((
                change.allocations + change.reallocations,
                change.bytes_allocated,
            ))
        })?;
        let each = |total: usize| {
            f64::from(u32::try_from(total).unwrap_or(u32::MAX))
                / f64::from(u32::try_from(COUNTED).unwrap_or(1))
        };
        report.add(
            format!("Rust body, {case}, allocations of one call"),
            each(allocations),
            "allocations",
        );
        report.add(
            format!("Rust body, {case}, bytes allocated by one call"),
            each(bytes),
            "bytes",
        );
    }
    Ok(())
}
