//! The official SDKs as clients. `./check` installs them below `target/clients`; a test without its SDK says so and passes.

use crate::support::program::{command, repository};
use crate::support::{Project, hook_with, tool, tool_with};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// What the client programs in `tests/clients` expect to find.
fn project() -> Project {
    let add = "parameters:\n  n: {type: integer, required: true}\noutput_schema: {type: object, required: [n], properties: {n: {type: integer}}}\n";
    let wait =
        "parameters:\n  seconds: {type: number, required: true}\nlimits: {max_concurrency: 1}\n";
    // Some clients drop progress that arrives together with the answer.
    let count = "def run(args):\n  progress(0.5, \"half\")\n  progress(1.0, \"all\")\n  sleep(0.3)\n  return \"done\"";
    Project::new(&[
        (
            ".harness/tools/add_one.md",
            &tool_with(add, "def run(args):\n  return {\"n\": args[\"n\"] + 1}"),
        ),
        (".harness/tools/count_up.md", &tool(count)),
        (
            ".harness/tools/guarded.md",
            &tool("def run(args):\n  return \"never\""),
        ),
        (
            ".harness/tools/wait_long.md",
            &tool_with(
                wait,
                "def run(args):\n  sleep(args[\"seconds\"])\n  return \"done\"",
            ),
        ),
        (
            ".harness/hooks/guard.md",
            &hook_with(
                "tool.pre",
                "when: payload[\"name\"] == \"guarded\"\n",
                "def handle(event, payload):\n  return block(\"not today\")",
            ),
        ),
    ])
}

/// Runs a client program on a fresh project, once for each list of arguments.
fn check(program: &Path, script: &str, needs: &Path, rows: &[&[&str]]) {
    if !needs.exists() {
        println!(
            "skipped: `{}` is not there; `./check` installs it",
            needs.display()
        );
        return;
    }
    let script = repository("crates/cli/tests/it/clients").join(script);
    for words in rows {
        let project = project();
        let mut all = vec![
            script.to_str().expect("text"),
            env!("CARGO_BIN_EXE_harness"),
            project.path().to_str().expect("text"),
        ];
        all.extend(*words);
        let folder = needs
            .ancestors()
            .find(|folder| folder.join("node_modules").exists())
            .unwrap_or(Path::new("/"));
        let ran = command(program, folder, &all)
            .output()
            .expect("the client starts");
        let (out, err) = (
            String::from_utf8_lossy(&ran.stdout),
            String::from_utf8_lossy(&ran.stderr),
        );
        assert!(
            ran.status.success() && out.contains("done"),
            "{words:?}: {out}\n{err}"
        );
    }
}

fn installed(path: &str) -> PathBuf {
    repository("target/clients").join(path)
}

#[test]
fn the_python_sdk_lists_calls_cancels_and_gets_change_notifications() {
    let python = installed("python/bin/python");
    check(
        &python,
        "sdk.py",
        &python,
        &[&["legacy"], &["auto"], &["2026-07-28"]],
    );
}

#[test]
fn both_generations_of_the_typescript_sdk_work_in_every_revision() {
    let (first, second) = (
        installed("node/node_modules/@modelcontextprotocol/sdk"),
        installed("node/node_modules/@modelcontextprotocol/client"),
    );
    check(
        Path::new("node"),
        "sdk.mjs",
        &first,
        &[&["v1", "2025-11-25"]],
    );
    let revisions = [
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ];
    for revision in revisions {
        check(Path::new("node"), "sdk.mjs", &second, &[&["v2", revision]]);
    }
}

/// The scenarios of the conformance suite that apply to this server. The others are listed with reasons in
/// `docs/mcp-conformance.md`.
const SCENARIOS: [&str; 7] = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
];

#[test]
fn the_conformance_suite_passes_for_tools_over_stdio() {
    let (suite, node) = (
        installed("node/node_modules/@modelcontextprotocol/conformance/dist/index.js"),
        installed("node/node_modules/node/bin/node"),
    );
    if !suite.exists() || !node.exists() {
        println!(
            "skipped: `{}` is not there; `./check` installs it",
            suite.display()
        );
        return;
    }
    let schema = r##"input_schema:
  $schema: "https://json-schema.org/draft/2020-12/schema"
  type: object
  $defs: {address: {type: object, properties: {street: {type: string}, city: {type: string}}}}
  properties: {name: {type: string}, address: {$ref: "#/$defs/address"}}
  additionalProperties: false
"##;
    let progress = "def run(args):\n  for step in [0, 0.5, 1]:\n    progress(step)\n    sleep(0.05)\n  return \"done\"";
    let project = Project::new(&[
        (
            ".harness/tools/test_simple_text.md",
            &tool("def run(args):\n  return \"This is a simple text response for testing.\""),
        ),
        (
            ".harness/tools/test_error_handling.md",
            &tool(
                "def run(args):\n  return error(\"This tool intentionally returns an error for testing\")",
            ),
        ),
        (".harness/tools/test_tool_with_progress.md", &tool(progress)),
        (
            ".harness/tools/json_schema_2020_12_tool.md",
            &tool_with(schema, "def run(args):\n  return 1"),
        ),
    ]);
    let bridge = repository("crates/cli/tests/it/clients/bridge.mjs");
    let words = [
        bridge.to_str().expect("text"),
        env!("CARGO_BIN_EXE_harness"),
        project.path().to_str().expect("text"),
    ];
    let mut carrying = command(&node, project.path(), &words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the bridge");
    let mut address = String::new();
    BufReader::new(carrying.stdout.take().expect("output"))
        .read_line(&mut address)
        .expect("an address");
    let results = tempfile::tempdir().expect("a folder");
    let mut failed = Vec::new();
    for scenario in SCENARIOS {
        let words = [
            suite.to_str().expect("text"),
            "server",
            "--url",
            address.trim(),
            "--scenario",
            scenario,
        ];
        let ran = command(&node, results.path(), &words)
            .output()
            .expect("the suite starts");
        if !ran.status.success() {
            failed.push(format!(
                "{scenario}: {}{}",
                String::from_utf8_lossy(&ran.stdout),
                String::from_utf8_lossy(&ran.stderr)
            ));
        }
    }
    drop(carrying.stdin.take());
    let _ = carrying.wait();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
