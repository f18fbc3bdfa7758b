//! Scripts in confined workers: twenty lines, alone and between hooks, and the cost of a built-in.

use super::listen::{Counter, Stages};
use super::{arguments, on_runtime, repeat};
use crate::project::{POST_HOOKS, PRE_HOOKS, Project, RUST_TOOL, hook, plain_tool, script_tool};
use crate::system::Cpu;
use crate::{Report, Samples};
use anyhow::ensure;
use serde_json::{Value, json};
use std::sync::Arc;
use tool_harness::event::Sink;
use tool_harness::{Engine, EngineBuilder};

const TOOL: &str = "find_files";
const BODY: &str = "find_things";
const WARM_UP: usize = 300;
const CALLS: usize = 4_000;

/// How often `read_cache` calls `cache.get`.
const CROSSINGS: u32 = 100;

fn project(hooks: Hooks) -> anyhow::Result<Project> {
    let project = Project::new()?;
    project.tool(TOOL, &script_tool(1))?;
    project.tool(BODY, RUST_TOOL)?;
    project.tool(
        "run_nothing",
        &plain_tool("", "def run(args):\n    return None"),
    )?;
    let repeated = |body: &str| {
        plain_tool(
            "",
            &format!(
                "def run(args):\n    for i in range({CROSSINGS}):\n        {body}\n    return None"
            ),
        )
    };
    project.tool("read_cache", &repeated("cache.get(\"key\")"))?;
    project.tool("read_dict", &repeated("args.get(\"key\")"))?;
    if hooks == Hooks::SevenAndTwo {
        for (index, script) in PRE_HOOKS.iter().enumerate() {
            project.hook(&format!("pre_{index}"), &hook("tool.pre", script))?;
        }
        for (index, script) in POST_HOOKS.iter().enumerate() {
            project.hook(&format!("post_{index}"), &hook("tool.post", script))?;
        }
    }
    Ok(project)
}

/// The hooks around a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hooks {
    None,
    SevenAndTwo,
}

impl Hooks {
    fn case(self) -> &'static str {
        match self {
            Self::None => "20-line script, no hooks",
            Self::SevenAndTwo => "20-line script, 7 pre and 2 post hooks",
        }
    }
}

async fn engine(project: &Project, sink: Option<Arc<dyn Sink>>) -> anyhow::Result<Engine> {
    let engine = sink
        .into_iter()
        .fold(EngineBuilder::new(project.path()), EngineBuilder::sink)
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
    let alone = calls(report, Hooks::None)?;
    let hooked = calls(report, Hooks::SevenAndTwo)?;
    report.add(
        "20-line script, with 9 hooks / without",
        hooked.median() / alone.median(),
        "ratio",
    );
    let body = on_runtime(async {
        let project = project(Hooks::SevenAndTwo)?;
        let builder = EngineBuilder::new(project.path())
            .body(BODY, |_: Value| async { Ok(json!({"found": []})) });
        measured(&builder.load().await?, BODY, CALLS, arguments()).await
    })?;
    report.add_samples("Rust body, 7 pre and 2 post hooks", &body, "µs");
    crossings(report)
}

fn calls(report: &mut Report, hooks: Hooks) -> anyhow::Result<Samples> {
    let case = hooks.case();
    let (samples, cpu, stages) = on_runtime(async move {
        let project = project(hooks)?;
        let silent = engine(&project, None).await?;
        repeat(&silent, WARM_UP, TOOL, &arguments()).await?;
        let before = Cpu::now()?;
        let samples = repeat(&silent, CALLS, TOOL, &arguments()).await?;
        let after = Cpu::now()?;
        let each = |time: f64| time / f64::from(u32::try_from(CALLS).unwrap_or(1));
        let cpu = Cpu {
            harness: each(after.harness - before.harness),
            workers: each(after.workers - before.workers),
        };
        let stages = Arc::new(Stages::default());
        let heard = engine(&project, Some(stages.clone())).await?;
        repeat(&heard, WARM_UP, TOOL, &arguments()).await?;
        stages.clear();
        repeat(&heard, CALLS, TOOL, &arguments()).await?;
        Ok((samples, cpu, stages))
    })?;
    report.add_samples(case, &samples, "µs");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let single = runtime.block_on(async {
        let project = project(hooks)?;
        let engine = engine(&project, None).await?;
        measured(&engine, TOOL, CALLS, arguments()).await
    })?;
    report.add(
        format!("{case}, runtime of one thread, median"),
        single.median(),
        "µs",
    );
    report.add(
        format!("{case}, processor time of the harness"),
        cpu.harness,
        "µs",
    );
    report.add(
        format!("{case}, processor time of the workers"),
        cpu.workers,
        "µs",
    );
    report.add(
        format!("{case}, processor time"),
        cpu.harness + cpu.workers,
        "µs",
    );
    stages.report(report, case);
    Ok(samples)
}

fn crossings(report: &mut Report) -> anyhow::Result<()> {
    let (nothing, cache, dict, heard) = on_runtime(async {
        let project = project(Hooks::None)?;
        let silent = engine(&project, None).await?;
        let nothing = measured(&silent, "run_nothing", CALLS, json!({})).await?;
        let cache = measured(&silent, "read_cache", 300, json!({})).await?;
        let dict = measured(&silent, "read_dict", 300, json!({})).await?;
        let heard = engine(&project, Some(Arc::new(Counter::default()))).await?;
        let heard = measured(&heard, "run_nothing", CALLS, json!({})).await?;
        Ok((nothing, cache, dict, heard))
    })?;
    report.add_samples("empty script, whole call", &nothing, "µs");
    report.add(
        "empty script, one sink / no sink",
        heard.median() / nothing.median(),
        "ratio",
    );
    report.add(
        "one crossing for a built-in, median",
        (cache.median() - dict.median()) / f64::from(CROSSINGS),
        "µs",
    );
    Ok(())
}

async fn measured(
    engine: &Engine,
    tool: &str,
    count: usize,
    arguments: Value,
) -> anyhow::Result<Samples> {
    repeat(engine, count / 10, tool, &arguments).await?;
    repeat(engine, count, tool, &arguments).await
}
