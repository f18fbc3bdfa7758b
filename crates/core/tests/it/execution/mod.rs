//! How calls run: permits, limits, retries, keys.

mod limits;
mod nested;
mod repeats;

use crate::support::numbered;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_harness::{Tool, ToolRequest, ToolSpec};

fn requests(tool: &str, arguments: impl IntoIterator<Item = Value>) -> Vec<ToolRequest> {
    arguments
        .into_iter()
        .enumerate()
        .map(|(index, arguments)| ToolRequest::new(format!("c{index}"), tool, arguments))
        .collect()
}

fn numbers(count: i64) -> impl Iterator<Item = Value> {
    (0..count).map(|n| json!({"n": n}))
}

/// A tool that waits, and the highest number of its calls that ran at once.
fn waits(spec: ToolSpec, time: Duration) -> (impl Tool, Arc<AtomicUsize>) {
    let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let tool = numbered(spec, move |n| {
        let (at_once, most) = (Arc::clone(&at_once), Arc::clone(&seen));
        async move {
            most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(time).await;
            at_once.fetch_sub(1, Ordering::SeqCst);
            Ok(n)
        }
    });
    (tool, most)
}
