//! A program with one governed tool: a file declares it, a hook judges calls, Rust does the work.

use serde_json::{Value, json};
use tool_harness::{Arguments, Call, EngineBuilder, ToolError};

/// The body of the tool. A panic in here fails the call, not the program.
async fn look_up_order(arguments: Value) -> Result<Value, ToolError> {
    match arguments["id"].as_str() {
        Some("A-17") => Ok(json!({"id": "A-17", "status": "shipped", "items": 3})),
        _ => Err(ToolError::repairable("no_order", "there is no such order")),
    }
}

fn main() -> anyhow::Result<()> {
    // Hooks are scripts, and the engine runs scripts in workers: this same program, started again.
    // Call this first, before there are other threads.
    tool_harness_script::run_if_worker();
    tokio::runtime::Runtime::new()?.block_on(serve())
}

async fn serve() -> anyhow::Result<()> {
    let project = concat!(env!("CARGO_MANIFEST_DIR"), "/project");
    let engine = EngineBuilder::new(project)
        .body("look_up_order", look_up_order)
        .load()
        .await?;
    for diagnostic in engine.report() {
        println!("{}: {}", diagnostic.code, diagnostic.message);
    }
    for id in ["A-17", "B-2", "X-1", "seventeen"] {
        let call = Call::new("look_up_order", Arguments::Value(json!({ "id": id })));
        let result = engine.call(call).await;
        let outcome = if result.is_error { "error" } else { "result" };
        println!("{outcome}: {}", result.text().replace('\n', "\n  "));
    }
    Ok(())
}
