//! Reports on surfaces: the command, the formats, the doors.

mod fix;
mod reports;

use serde_json::{Value, json};

/// A surface with an error, warnings and a text of several lines.
fn surface() -> Value {
    json!({
        "tools": [{
            "name": "run_command",
            "description": "Runs a command.",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
            "executor": "harn",
            "annotations": {"kind": "execute", "side_effect_level": "process_exec", "emits_artifacts": true},
        }],
        "system": "Be brief.\nUse delete_file(x), then delete_file(y).",
    })
}

fn codes(report: &Value) -> Vec<&str> {
    report["diagnostics"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|found| found["code"].as_str())
        .collect()
}
