//! What scripts give and how they fail.

mod builtins;
mod chains;
mod frames;
mod values;

use super::index;
use super::supervisor::{BUDGET, End, TICKET, Worker, failure, run};
use serde_json::{Value, json};
use std::time::Duration;
use tool_harness::facts::ScriptKind;
use tool_harness::worker::protocol::{
    Budget, FailureKind, Link, Outcome, Request, Response, Verdict, push_frame,
};

fn value(source: &str) -> Value {
    match run(source, Value::Null) {
        Ok(Outcome::Value(value)) => value,
        other => panic!("{source:?} gave {other:?}"),
    }
}

fn expression(expression: &str) -> Value {
    value(&format!("def run(args):\n  return {expression}\n"))
}
