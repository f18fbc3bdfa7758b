//! Searches a checkout of 100,000 files with the shipped `search_code`, and with `rg`, in turns.

use crate::project::Project;
use crate::{Report, Samples};
use anyhow::{Context, ensure};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use tool_harness::{Arguments, Call, Engine};

/// Searches per case; the cases take turns.
const ROUNDS: usize = 15;
/// Searches before that, which fill the system's caches.
const WARM_UP: usize = 2;
/// Folders of the checkout, and of what git ignores in it, with a hundred files each.
const FOLDERS: usize = 300;
const IGNORED_FOLDERS: usize = 700;
const FILES: usize = 100;
/// The searched text is in one file of so many.
const EVERY: usize = 1_000;
const NEEDLE: &str = "find_this_needle";
const TOOL: &str = include_str!("../../crates/cli/src/template/search_code.md");

/// One way to search, and whether it includes what git ignores.
struct Case {
    name: &'static str,
    program: SearchProgram,
    ignored: bool,
    times: Samples,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchProgram {
    Harness,
    Ripgrep,
}

/// Measures searches.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let project = checkout()?;
    let engine = runtime.block_on(Engine::load(project.path()))?;
    ensure!(engine.is_valid(), "{:?}", engine.diagnostics().first());
    let case = |name, program, ignored| Case {
        name,
        program,
        ignored,
        times: Samples::default(),
    };
    let mut cases = vec![
        case("search_code", SearchProgram::Harness, false),
        case(
            "search_code, ignored files too",
            SearchProgram::Harness,
            true,
        ),
    ];
    match ripgrep(project.path(), false) {
        Ok(_) => cases.extend([
            case("rg", SearchProgram::Ripgrep, false),
            case("rg, ignored files too", SearchProgram::Ripgrep, true),
        ]),
        Err(cause) => eprintln!("skipped: rg: {cause:#}"),
    }
    for round in 0..WARM_UP + ROUNDS {
        for case in &mut cases {
            let started = Instant::now();
            let found = match case.program {
                SearchProgram::Harness => runtime.block_on(harness(&engine, case.ignored)),
                SearchProgram::Ripgrep => ripgrep(project.path(), case.ignored),
            };
            let time = started.elapsed().as_secs_f64() * 1000.0;
            let found = found.with_context(|| case.name)?;
            let folders = FOLDERS + if case.ignored { IGNORED_FOLDERS } else { 0 };
            ensure!(
                found == folders * FILES / EVERY,
                "{} found {found} lines",
                case.name
            );
            if round >= WARM_UP {
                case.times.push(time);
            }
        }
    }
    for case in &cases {
        report.add_samples(case.name, &case.times, "ms");
    }
    let median = |program, ignored| {
        let same = |case: &&Case| case.program == program && case.ignored == ignored;
        cases.iter().find(same).map(|case| case.times.median())
    };
    for (ignored, what) in [(false, ""), (true, ", ignored files too")] {
        if let (Some(ours), Some(rg)) = (
            median(SearchProgram::Harness, ignored),
            median(SearchProgram::Ripgrep, ignored),
        ) {
            report.add(format!("search_code / rg{what}"), ours / rg, "ratio");
        }
    }
    Ok(())
}

/// A checkout with 100,000 files, most of them in a folder that git ignores.
fn checkout() -> anyhow::Result<Project> {
    let project = Project::new()?;
    project.root("---\n---\nA large checkout.\n")?;
    project.tool("search_code", TOOL)?;
    // `rg` obeys `.gitignore` in a repository only.
    fs::create_dir(project.path().join(".git"))?;
    fs::write(project.path().join(".gitignore"), "node_modules/\n*.log\n")?;
    for folder in 0..FOLDERS {
        let place = format!("src/part_{}/module_{folder}", folder % 20);
        files(&project.path().join(place), folder)?;
    }
    for folder in 0..IGNORED_FOLDERS {
        let place = format!("node_modules/package_{}/lib_{folder}", folder % 50);
        files(&project.path().join(place), folder)?;
    }
    Ok(project)
}

/// A hundred files of about two kilobytes.
fn files(folder: &Path, number: usize) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    for file in 0..FILES {
        let id = number * FILES + file;
        let mut text = String::new();
        for line in 0..40 {
            let _ = writeln!(
                text,
                "export const value_{id}_{line} = compute({line}, {id});"
            );
        }
        if id.is_multiple_of(EVERY) {
            let _ = writeln!(text, "// {NEEDLE} {id}");
        }
        fs::write(folder.join(format!("file_{file}.ts")), text)?;
    }
    Ok(())
}

async fn harness(engine: &Engine, ignored: bool) -> anyhow::Result<usize> {
    let arguments = json!({"text": NEEDLE, "ignored": ignored, "max_matches": 500});
    let call = Call::new("search_code", Arguments::Value(arguments));
    let result = engine.call(call).await;
    let value = result.value.as_ref().filter(|_| !result.is_error);
    let matches = value.and_then(|value| value.get("matches"));
    matches
        .and_then(Value::as_array)
        .map(Vec::len)
        .with_context(|| format!("{:?}", result.error))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program that is compared with"
)]
fn ripgrep(folder: &Path, ignored: bool) -> anyhow::Result<usize> {
    let mut command = Command::new("rg");
    command.args(["--line-number", "--no-heading", "--fixed-strings", NEEDLE]);
    if ignored {
        command.arg("--no-ignore");
    }
    let ran = command
        .arg(".")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    ensure!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    Ok(String::from_utf8_lossy(&ran.stdout).lines().count())
}
