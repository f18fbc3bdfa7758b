//! One cold decision of `harness hook`, from process start to answer, against a bare Python.

use crate::project::{Project, script_tool};
use crate::{Report, Samples};
use anyhow::{Context, ensure};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

/// The artifacts of the project: hooks, and the rest tools.
const ARTIFACTS: usize = 100;
const HOOKS: usize = 7;
/// Decisions per case; the cases take turns.
const ROUNDS: usize = 60;
/// Concurrent processes.
const AT_ONCE: usize = 100;

/// Measures `harness hook`.
pub fn run(report: &mut Report) -> anyhow::Result<()> {
    let installed = TempDir::new()?;
    let program = program(installed.path())?;
    let project = project()?;
    let [mut allowed, mut denied, mut python] =
        [const { Vec::new() }; 3].map(|_: Vec<f64>| Samples::default());
    for round in 0..ROUNDS + 3 {
        let times = [
            time(|| answer(hook(&program, project.path(), "git status")?, ""))?,
            time(|| answer(hook(&program, project.path(), "forbidden")?, "\"deny\""))?,
            time(|| {
                answer(
                    spawn("/usr/bin/python3", &["-c", "pass"], project.path())?,
                    "",
                )
            })?,
        ];
        // The first rounds fill the system's caches.
        if round >= 3 {
            for (samples, time) in [&mut allowed, &mut denied, &mut python]
                .into_iter()
                .zip(times)
            {
                samples.push(time);
            }
        }
    }
    report.add_samples("allowed, cold", &allowed.times(1e3), "ms");
    report.add_samples("denied, cold", &denied.times(1e3), "ms");
    report.add_samples("python3 -c pass", &python.times(1e3), "ms");
    report.add(
        "allowed / python3 -c pass",
        allowed.median() / python.median(),
        "ratio",
    );
    report.add(
        "denied / python3 -c pass",
        denied.median() / python.median(),
        "ratio",
    );
    at_once(report, &program, project.path())
}

/// Starts a hundred processes without waiting in between. Each must give the right answer.
fn at_once(report: &mut Report, program: &Path, project: &Path) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut times = Samples::default();
    let longest = std::thread::scope(|scope| -> anyhow::Result<f64> {
        let mut running = Vec::new();
        for index in 0..AT_ONCE {
            let (command, expected) = if index.is_multiple_of(3) {
                ("forbidden", "\"deny\"")
            } else {
                ("git status", "")
            };
            running.push(
                scope.spawn(move || time(|| answer(hook(program, project, command)?, expected))),
            );
        }
        let mut longest = 0.0_f64;
        for thread in running {
            let time = thread
                .join()
                .map_err(|_| anyhow::anyhow!("a hook gave no answer"))??;
            times.push(time);
            longest = longest.max(time);
        }
        Ok(longest)
    })?;
    report.add(
        format!("{AT_ONCE} at once, median"),
        times.median() * 1e3,
        "ms",
    );
    report.add(format!("{AT_ONCE} at once, longest"), longest * 1e3, "ms");
    report.add(
        format!("{AT_ONCE} at once, all"),
        started.elapsed().as_secs_f64() * 1e3,
        "ms",
    );
    Ok(())
}

fn time(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64())
}

/// Waits for the process to exit and checks its answer.
fn answer(child: Child, expected: &str) -> anyhow::Result<()> {
    let output = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    ensure!(
        if expected.is_empty() {
            said.is_empty()
        } else {
            said.contains(expected)
        },
        "wrong answer: {said}"
    );
    Ok(())
}

fn hook(program: &Path, project: &Path, command: &str) -> anyhow::Result<Child> {
    let mut child = spawn(program, &["hook", "claude-code"], project)?;
    let message = serde_json::json!({
        "session_id": "s", "cwd": project, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_use_id": "toolu_1",
        "tool_input": {"command": command, "description": "what it does"},
    });
    child
        .stdin
        .take()
        .context("no input")?
        .write_all(message.to_string().as_bytes())?;
    Ok(child)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program is measured from outside"
)]
fn spawn(
    program: impl AsRef<std::ffi::OsStr>,
    words: &[&str],
    folder: &Path,
) -> anyhow::Result<Child> {
    let mut command = Command::new(program);
    command
        .args(words)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command.spawn()?)
}

/// A copy of the built program, as an installed one is. The linker leaves its output in the page
/// cache in small pieces, and a process starts more slowly from those than from a file that was
/// copied.
pub(crate) fn program(folder: &Path) -> anyhow::Result<PathBuf> {
    let built = std::env::current_exe()?.with_file_name("harness");
    ensure!(
        built.exists(),
        "{} is not built; `cargo build --profile dist -p tool-harness-cli` builds it",
        built.display()
    );
    let program = folder.join("harness");
    std::fs::copy(built, &program)?;
    Ok(program)
}

fn project() -> anyhow::Result<Project> {
    let project = Project::new()?;
    project.root("---\nformat: 1\ntools_policy: { deny: [fs.remove] }\n---\nBe careful.\n")?;
    for index in 0..ARTIFACTS - HOOKS {
        project.tool(&format!("look_up_{index}"), &script_tool(index))?;
    }
    for index in 0..HOOKS {
        let text = format!(
            "---\nevent: tool.pre\npriority: {index}\nscript: |\n  WORDS = [\"word{index}\", \"forbidden\"]\n\n  def handle(event, payload):\n      \
             command = payload[\"args\"].get(\"command\", \"\")\n      for word in WORDS:\n          if word in command and {index} == 6:\n              \
             return block(\"no \" + word)\n      return allow()\n---\nHook {index}.\n"
        );
        project.hook(&format!("guard_{index}"), &text)?;
    }
    Ok(project)
}
