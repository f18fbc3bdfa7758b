//! Policy, end to end: a denied call stays denied, whatever a hook, a script or a model says.

mod builtins;
mod bundles;
mod hooks;
mod race;
mod rules;

use crate::support::{Project, call};
use serde_json::Value;
use tool_harness::ToolResult;

const ECHO: &str = "def run(args):\n    return args";

const ALLOW: &str = "def handle(event, payload):\n    return allow()";

fn root(fields: &str) -> String {
    format!("---\nformat: 1\n{fields}---\n")
}

async fn ask(files: &[(&str, &str)], tool: &str, arguments: Value) -> ToolResult {
    let project = Project::new(files);
    let engine = project.engine().await;
    let wrong: Vec<_> = engine
        .diagnostics()
        .iter()
        .filter(|found| found.severity == tool_harness::diagnostic::Severity::Error)
        .collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    engine.call(call(tool, arguments)).await
}
