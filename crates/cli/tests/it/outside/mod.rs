//! Processes and requests of tools: the plan decides what happens, and the result says what was enforced.

mod homes;
mod layers;
mod network;
mod processes;

use crate::support::{Project, call, tool_with};
use serde_json::{Value, json};
use tool_harness::engine::Engine;

const SHELL: &str = "def run(args):\n    return exec.run(\"sh\", [\"-c\", args[\"command\"]], args.get(\"timeout_ms\", 20000))";

const ROOT: (&str, &str) = ("harness.md", "---\nformat: 1\n---\n");

/// A shell that a project with a root file may run.
fn shell(fields: &str) -> Project {
    Project::new(&[
        ROOT,
        (".harness/tools/t.md", &tool_with(fields, SHELL)),
        ("src/a.txt", "a"),
        ("secret/key.txt", "secret"),
    ])
}

async fn run(engine: &Engine, command: &str) -> Value {
    let result = engine.call(call("t", json!({"command": command}))).await;
    result
        .value
        .clone()
        .unwrap_or_else(|| panic!("{command}: {}", result.text()))
}

#[test]
fn every_test_here_passes_for_an_ordinary_user() {
    crate::support::user::run_every_test_as_an_ordinary_user("outside");
}
