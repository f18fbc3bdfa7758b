//! Every numbered loader rule and every validation rule of seed 000, through a loaded engine.

mod calls;
mod format;

use crate::support::Project;
use tool_harness::diagnostic::Severity;
use tool_harness::engine::Engine;
use tool_harness::registry::OfferedTool;
use tool_harness::tool::READER;

const SCRIPT: &str = "def run(args):\n    return {\"ok\": True}";

async fn load(files: &[(&str, &str)]) -> (Project, Engine) {
    let project = Project::new(files);
    let engine = project.engine().await;
    (project, engine)
}

/// Every finding of at least this severity, as `code: message`.
fn findings(engine: &Engine, least: Severity) -> Vec<String> {
    let heavy = engine
        .diagnostics()
        .iter()
        .filter(|found| found.severity >= least);
    heavy
        .map(|found| format!("{}: {}", found.code, found.message))
        .collect()
}

/// The project's tools, without the built-in one.
fn offered(engine: &Engine) -> Vec<OfferedTool> {
    let tools = engine.surface("default").expect("a surface").tools;
    tools
        .into_iter()
        .filter(|tool| tool.name != READER)
        .collect()
}

fn only(engine: &Engine) -> OfferedTool {
    let mut tools = offered(engine);
    assert_eq!(tools.len(), 1, "{:?}", engine.diagnostics());
    tools.remove(0)
}
