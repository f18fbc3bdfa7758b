//! Loads and checks projects of 100, 1,000 and 10,000 tools.

use crate::project::{Project, script_tool};
use crate::system::{peak_megabytes, reset_peak, resident_megabytes};
use crate::{Report, Samples};
use anyhow::ensure;
use std::time::Instant;
use tool_harness::builtin::MODULES;
use tool_harness::check::{check, scripts};
use tool_harness::facts::FactsBySource;
use tool_harness::{Engine, artifact};

/// The number of tools, and how often the project is loaded.
const SIZES: [(usize, usize); 3] = [(100, 15), (1_000, 7), (10_000, 3)];

/// The bytes of text in the root file: the prompt of a large project.
const PROMPT_BYTES: usize = 100_000;

/// Measures loading.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let projects = SIZES
        .iter()
        .map(|(tools, _)| project(*tools))
        .collect::<anyhow::Result<Vec<_>>>()?;
    runtime.block_on(memory(report, &projects))?;
    let mut wholes: Vec<(usize, f64)> = Vec::new();
    for ((tools, rounds), project) in SIZES.into_iter().zip(&projects) {
        let whole = runtime.block_on(whole(report, project, tools, rounds))?;
        parts(report, project, tools, rounds, whole);
        if let Some((fewer, before)) = wholes.last() {
            report.add(
                format!("{tools} tools / {fewer} tools, whole"),
                whole / before,
                "ratio",
            );
        }
        wholes.push((tools, whole));
    }
    Ok(())
}

/// Measures the memory of each project. The smaller ones stay loaded, so that a larger one cannot
/// reuse their memory.
async fn memory(report: &mut Report, projects: &[Project]) -> anyhow::Result<()> {
    let mut loaded = Vec::new();
    for ((tools, _), project) in SIZES.iter().zip(projects) {
        let before = resident_megabytes()?;
        reset_peak()?;
        let engine = Engine::load(project.path()).await?;
        ensure!(
            engine.is_valid() && engine.catalogue().tools().count() == *tools,
            "a tool is missing: {:?}",
            engine.diagnostics().first()
        );
        report.add(
            format!("{tools} tools, memory they take once loaded"),
            resident_megabytes()? - before,
            "MB",
        );
        report.add(
            format!("{tools} tools, peak of memory while loading"),
            peak_megabytes()? - before,
            "MB",
        );
        loaded.push(engine);
    }
    Ok(())
}

fn project(tools: usize) -> anyhow::Result<Project> {
    let project = Project::new()?;
    let prompt = "Answer with care, and say what was done. ".repeat(PROMPT_BYTES / 41 + 1);
    project.root(&format!(
        "---\ntools_policy:\n  deny: [\"exec.*\"]\n---\n{prompt}\n"
    ))?;
    for number in 0..tools {
        project.tool(&format!("find_files_{number}"), &script_tool(number))?;
    }
    Ok(project)
}

/// Loads the project as a program would, including the start of workers. Returns the median in
/// milliseconds.
async fn whole(
    report: &mut Report,
    project: &Project,
    tools: usize,
    rounds: usize,
) -> anyhow::Result<f64> {
    let engine = Engine::load(project.path()).await?;
    let surface = Samples::of(rounds, || {
        drop(std::hint::black_box(engine.surface("default")))
    });
    drop(engine);
    let mut times = Samples::default();
    for _ in 0..rounds {
        let started = Instant::now();
        let engine = Engine::load(project.path()).await?;
        times.push(started.elapsed().as_secs_f64() * 1000.0);
        drop(engine);
    }
    report.add_samples(&format!("{tools} tools, whole"), &times, "ms");
    report.add(
        format!("{tools} tools, the surface of a mode, median"),
        surface.median() / 1000.0,
        "ms",
    );
    Ok(times.median())
}

/// Measures the parts that can run on their own. The rest of the whole is workers and registry.
fn parts(report: &mut Report, project: &Project, tools: usize, rounds: usize, whole: f64) {
    let milliseconds = |samples: &Samples| samples.median() / 1000.0;
    let read = milliseconds(&Samples::of(rounds, || {
        drop(artifact::load(project.path()))
    }));
    let artifacts = artifact::load(project.path());
    let started = Instant::now();
    let facts: FactsBySource = scripts(&artifacts)
        .into_iter()
        .map(|(kind, source)| {
            let facts = tool_harness_script::check::facts(kind, &source, MODULES);
            ((kind, source), Ok(facts))
        })
        .collect();
    let facts_here = started.elapsed().as_secs_f64() * 1000.0;
    let mut copies: Vec<_> = (0..rounds).map(|_| artifacts.clone()).collect();
    let checked = milliseconds(&Samples::of(rounds, || {
        drop(copies.pop().map(|artifacts| check(artifacts, &facts)))
    }));
    report.add(format!("{tools} tools, reading"), read, "ms");
    report.add(
        format!("{tools} tools, facts of the scripts, on one thread without a worker"),
        facts_here,
        "ms",
    );
    report.add(
        format!("{tools} tools, rules over artifacts and facts"),
        checked,
        "ms",
    );
    report.add(
        format!("{tools} tools, the rest: workers and registry"),
        whole - read - checked,
        "ms",
    );
}
