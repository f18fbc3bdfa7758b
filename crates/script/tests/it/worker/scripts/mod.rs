//! What scripts return and how they fail.

mod builtins;
mod chains;
mod frames;
mod values;

use super::supervisor::run;
use serde_json::Value;
use tool_harness::worker::protocol::Outcome;

fn value(source: &str) -> Value {
    match run(source, Value::Null) {
        Ok(Outcome::Value(value)) => value,
        other => panic!("{source:?} gave {other:?}"),
    }
}

fn expression(expression: &str) -> Value {
    value(&format!("def run(args):\n  return {expression}\n"))
}
