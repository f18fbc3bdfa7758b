//! The engine under measurement: typed tools with three parameters, rules, no-op middleware and a
//! counting sink.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tool_harness::Effects;
use tool_harness::event::{Delivery, EventRef, Sink};
use tool_harness::middleware::{Decision, Judged, Middleware, Reply, Seen, Step};
use tool_harness::{
    Arguments, Call, Engine, EngineBuilder, ToolError, ToolRuntime, ToolSpec, TypedTool,
};

pub(super) const TOOL: &str = "find_things";

/// One rule of each kind that is matched against every tool.
const ROOT: &str = "---
tools_policy:
  deny: [\"drop_*\", \"exec.*\"]
policy:
  side_effect_level: workspace_write
  tool_arg_constraints:
    - {tool: \"write_*\", arg_key: path, arg_patterns: [\"src/**\"]}
---
Rules.
";

#[derive(Deserialize, schemars::JsonSchema)]
pub(super) struct Find {
    /// Where to look.
    path: String,
    /// What to look for.
    query: String,
    /// How many to give.
    limit: u32,
}

#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct Found {
    found: usize,
}

struct FindThings(String);

impl TypedTool for FindThings {
    type Input = Find;
    type Output = Found;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new(&self.0, "Finds things.").effects(Effects::READ)
    }

    async fn call(&self, (): &(), _: ToolRuntime<'_>, input: Find) -> Result<Found, ToolError> {
        let most = usize::try_from(input.limit).unwrap_or(0);
        Ok(Found {
            found: most.min(input.path.len() + input.query.len()),
        })
    }
}

/// A tool that waits, and counts how many calls wait at once.
#[derive(Clone, Default)]
pub(super) struct WaitingTool {
    pub(super) now: Arc<AtomicUsize>,
    pub(super) most: Arc<AtomicUsize>,
    pub(super) time: Duration,
}

impl TypedTool for WaitingTool {
    type Input = Find;
    type Output = Found;

    fn spec(&self) -> ToolSpec {
        ToolSpec::new("wait", "Waits.").pure()
    }

    async fn call(&self, (): &(), _: ToolRuntime<'_>, input: Find) -> Result<Found, ToolError> {
        self.most.fetch_max(
            self.now.fetch_add(1, Ordering::SeqCst) + 1,
            Ordering::SeqCst,
        );
        tokio::time::sleep(self.time).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(Found {
            found: usize::try_from(input.limit).unwrap_or(0),
        })
    }
}

/// Middleware that sees every call and every result and changes nothing.
struct NoOp;

impl Middleware for NoOp {
    fn name(&self) -> &str {
        "nothing"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        Decision::Allow.into()
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, _: &'a mut Reply<'_>) -> Step<'a, ()> {
        ().into()
    }
}

/// Counts events.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Sink for Counter {
    fn record(&self, _: &EventRef<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }
}

/// An engine with this many middleware, tools and sinks.
pub(super) async fn engine(
    middleware: usize,
    tools: usize,
    sinks: usize,
) -> anyhow::Result<Engine> {
    let mut builder = EngineBuilder::without_project()
        .root(ROOT)
        .tool(FindThings(TOOL.to_owned()));
    for index in 1..tools {
        builder = builder.tool(FindThings(format!("{TOOL}_{index}")));
    }
    for _ in 0..middleware {
        builder = builder.middleware(NoOp);
    }
    for _ in 0..sinks {
        builder = builder.sink(Arc::new(Counter::default()));
    }
    Ok(builder.load().await?)
}

/// An engine whose one tool waits.
pub(super) async fn waiting(tool: WaitingTool) -> anyhow::Result<Engine> {
    Ok(EngineBuilder::without_project().tool(tool).load().await?)
}

pub(super) fn arguments() -> Value {
    json!({"path": "crates/core/src", "query": "where is file_1 now", "limit": 5})
}

/// Prepares calls of one run of one session.
pub(super) fn calls(count: usize) -> Vec<Call> {
    let call = |_| {
        let mut call = Call::new(TOOL, Arguments::Value(arguments())).session("bench");
        "bench".clone_into(&mut call.run_id);
        call
    };
    (0..count).map(call).collect()
}
