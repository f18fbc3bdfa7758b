//! A governed call of a typed Rust tool, and the same in TinyAgents.

mod engine;

use crate::{Report, Samples};
use anyhow::{Context, ensure};
use engine::{WaitingTool, arguments, calls, engine, waiting};
use stats_alloc::{Region, StatsAlloc};
use std::alloc::System;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tool_harness::{Engine, ToolRequest};

/// Calls timed together: one takes little longer than reading the clock.
const BATCH: usize = 100;
/// Batches per case.
const BATCHES: usize = 300;

/// Measures typed tools.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(cases(report))?;
    runtime.block_on(steady(report))?;
    runtime.block_on(peer(report))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(turn(report))?;
    crate::call::count_with(report, "rust")
}

/// Measures the cases in turns, so that a busy moment of the machine affects them all.
async fn cases(report: &mut Report) -> anyhow::Result<()> {
    let kinds = [
        ("rules, three middleware, one sink", 3, 1, 1),
        ("rules, no middleware, one sink", 0, 1, 1),
        ("rules, three middleware, no sink", 3, 1, 0),
        ("rules, three middleware, one sink, 10 tools", 3, 10, 1),
        ("rules, three middleware, one sink, 1000 tools", 3, 1000, 1),
    ];
    let mut engines = Vec::new();
    for (case, middleware, tools, sinks) in kinds {
        engines.push((
            case,
            engine(middleware, tools, sinks).await?,
            Samples::default(),
        ));
    }
    for (_, engine, _) in &engines {
        batch(engine, 20 * BATCH).await?;
    }
    for _ in 0..BATCHES {
        for (_, engine, samples) in &mut engines {
            samples.push(batch(engine, BATCH).await?);
        }
    }
    for (case, _, samples) in &engines {
        report.add_samples(&format!("typed tool, {case}"), samples, "ns");
    }
    let median = |index: usize| {
        engines
            .get(index)
            .map_or(0.0, |(_, _, samples)| samples.median())
    };
    report.add("10 tools / 1 tool", median(3) / median(0), "ratio");
    report.add("1000 tools / 1 tool", median(4) / median(0), "ratio");
    Ok(())
}

/// Makes `count` calls in a row. Returns the nanoseconds per call.
async fn batch(engine: &Engine, count: usize) -> anyhow::Result<f64> {
    let calls = calls(count);
    let mut failed = 0;
    let started = Instant::now();
    for call in calls {
        failed += usize::from(engine.call(call).await.is_error);
    }
    let took = started.elapsed();
    ensure!(failed == 0, "{failed} calls failed");
    Ok(took.as_secs_f64() * 1e9 / f64::from(u32::try_from(count)?))
}

/// Measures whether calls get slower: two engines side by side, one of which has already made
/// 100,000 calls in one session.
async fn steady(report: &mut Report) -> anyhow::Result<()> {
    let (fresh, old) = (engine(3, 1, 1).await?, engine(3, 1, 1).await?);
    batch(&fresh, BATCH).await?;
    for _ in 0..100 {
        batch(&old, 1000).await?;
    }
    let (mut early, mut late) = (Samples::default(), Samples::default());
    for _ in 0..30 {
        early.push(batch(&fresh, BATCH).await?);
        late.push(batch(&old, BATCH).await?);
    }
    report.add("the calls after the 100th, median", early.median(), "ns");
    report.add("the calls after the 100,000th, median", late.median(), "ns");
    report.add(
        "after the 100,000th / after the 100th",
        late.median() / early.median(),
        "ratio",
    );
    Ok(())
}

/// A thousand calls in one turn, eight at a time, each of which waits.
async fn turn(report: &mut Report) -> anyhow::Result<()> {
    const CALLS: u32 = 1000;
    const AT_ONCE: u32 = 8;
    let tool = WaitingTool {
        time: Duration::from_millis(20),
        ..WaitingTool::default()
    };
    let most = tool.most.clone();
    // Timers fire late, so the ideal is what eight tasks take that only wait.
    let started = Instant::now();
    let waiters: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            tokio::spawn(async {
                for _ in 0..CALLS / AT_ONCE {
                    tokio::time::sleep(Duration::from_millis(20)).await
                }
            })
        })
        .collect();
    for waiter in waiters {
        waiter.await?;
    }
    let ideal = started.elapsed();
    let run = waiting(tool)
        .await?
        .start(())
        .max_concurrency(usize::try_from(AT_ONCE)?);
    let request = |index: u32| {
        let mut arguments = arguments();
        arguments["limit"] = index.into();
        ToolRequest::new(format!("call-{index}"), "wait", arguments)
    };
    let requests = (0..CALLS).map(request).collect();
    let turn = run.turn()?;
    let started = Instant::now();
    let turned = turn.call(requests).await;
    let took = started.elapsed();
    let found = |result: &tool_harness::ToolResult| {
        result
            .value
            .as_ref()
            .and_then(|value| value["found"].as_u64())
    };
    ensure!(
        turned
            .results
            .iter()
            .map(found)
            .eq((0..u64::from(CALLS)).map(Some)),
        "the results are not in the order of the calls"
    );
    report.add(
        "1000 calls of one turn, most at once",
        f64::from(u32::try_from(most.load(Ordering::SeqCst))?),
        "calls",
    );
    report.add(
        "1000 calls of one turn, 8 at once, 20 ms each",
        took.as_secs_f64() * 1000.0,
        "ms",
    );
    report.add(
        "1000 calls of one turn / eight who only wait",
        took.as_secs_f64() / ideal.as_secs_f64(),
        "ratio",
    );
    Ok(())
}

/// Counts what a call allocates and what many calls leave behind, exactly because the runtime has
/// one thread.
pub fn count(report: &mut Report, allocator: &'static StatsAlloc<System>) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for (case, middleware, sinks) in [
        ("three middleware, one sink", 3, 1),
        ("no middleware, one sink", 0, 1),
        ("three middleware, no sink", 3, 0),
    ] {
        let (allocations, kept) = runtime.block_on(counted(allocator, middleware, sinks))?;
        report.add(
            format!("typed tool, {case}, allocations of one call"),
            allocations,
            "allocations",
        );
        report.add(
            format!("typed tool, {case}, bytes kept after 100,000 calls more"),
            kept,
            "bytes",
        );
    }
    Ok(())
}

async fn counted(
    allocator: &'static StatsAlloc<System>,
    middleware: usize,
    sinks: usize,
) -> anyhow::Result<(f64, f64)> {
    const COUNTED: usize = 1000;
    let engine = engine(middleware, 1, sinks).await?;
    for _ in 0..10 {
        batch(&engine, 1000).await?;
    }
    let calls = calls(COUNTED);
    let region = Region::new(allocator);
    for call in calls {
        engine.call(call).await;
    }
    let change = region.change();
    let region = Region::new(allocator);
    for _ in 0..100 {
        batch(&engine, 1000).await?;
    }
    let kept = region.change();
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let left = number(kept.bytes_allocated) - number(kept.bytes_deallocated);
    Ok((
        number(change.allocations + change.reallocations) / number(COUNTED),
        left,
    ))
}

/// Measures TinyAgents, which is a program of its own, in turns with the same cases here.
async fn peer(report: &mut Report) -> anyhow::Result<()> {
    const ROUNDS: usize = 7;
    let program =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tinyagents/target/dist/tinyagents-peer");
    let engines = [
        engine(3, 1, 1).await?,
        engine(0, 1, 1).await?,
        engine(3, 1000, 1).await?,
    ];
    for engine in &engines {
        batch(engine, 20 * BATCH).await?;
    }
    let mut found: Vec<(String, Samples, Samples)> = Vec::new();
    for _ in 0..ROUNDS {
        let mut governed = [(); 3].map(|()| Samples::default());
        for _ in 0..BATCHES {
            for (engine, samples) in engines.iter().zip(&mut governed) {
                samples.push(batch(engine, BATCH).await?);
            }
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "starts the program of the package beside this one"
        )]
        let output = std::process::Command::new(&program)
            .output()
            .with_context(|| format!("cannot start {}", program.display()))?;
        ensure!(
            output.status.success(),
            "{} failed: {}",
            program.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        let figures: Vec<serde_json::Value> = String::from_utf8_lossy(&output.stdout)
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()?;
        let times = figures.iter().filter(|figure| figure["unit"] == "ns");
        for (index, (figure, governed)) in times.zip(&governed).enumerate() {
            let time = figure["value"].as_f64().unwrap_or_default();
            if found.len() <= index {
                found.push((
                    figure["case"].as_str().unwrap_or_default().to_owned(),
                    Samples::default(),
                    Samples::default(),
                ));
            }
            if let Some((_, times, ratios)) = found.get_mut(index) {
                times.push(time);
                ratios.push(time / governed.median());
            }
        }
    }
    for (case, times, ratios) in &found {
        report.add(format!("{case}, median of rounds"), times.median(), "ns");
        report.add(
            format!("{case} / the same here, median of rounds"),
            ratios.median(),
            "ratio",
        );
    }
    Ok(())
}
