//! The worker that the tests of this crate start, with test built-ins or the real ones.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the built-ins of the tests try to get out"
)]

#[path = "it/worker/table.rs"]
mod table;

use serde_json::json;
use tool_harness::facts::ScriptKind;
use tool_harness_script::{BuiltinTable, run_if_worker, run_if_worker_with};

fn main() {
    run_if_worker_with(table::ARGUMENT, table::TABLE, facts);
    run_if_worker();
}

fn facts(kind: ScriptKind, source: &str, table: BuiltinTable) -> String {
    json!({"kind": format!("{kind:?}"), "length": source.len(), "modules": table.len()}).to_string()
}
