//! The cost of one tool call in TinyAgents 2.1.1: a turn of many calls, less a turn of none. One JSON object a line.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tinyagents::Result;
use tinyagents::harness::context::{RunConfig, RunContext};
use tinyagents::harness::events::{EventListener, EventRecord};
use tinyagents::harness::message::{AssistantMessage, ContentBlock, Message};
use tinyagents::harness::middleware::Middleware;
use tinyagents::harness::model::ModelResponse;
use tinyagents::harness::runtime::{AgentHarness, RunPolicy};
use tinyagents::harness::testkit::ScriptedModel;
use tinyagents::harness::tool::{Tool, ToolCall, ToolResult, ToolSchema};

#[cfg(feature = "count")]
#[global_allocator]
static GLOBAL: &stats_alloc::StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

const CALLS: usize = 200;
const RUNS: usize = 30;

#[derive(Deserialize)]
struct Find {
    path: String,
    query: String,
    limit: u32,
}

struct FindThings(String);

#[async_trait]
impl Tool<()> for FindThings {
    fn name(&self) -> &str {
        &self.0
    }

    fn description(&self) -> &str {
        "Finds things."
    }

    fn schema(&self) -> ToolSchema {
        let properties = json!({"path": {"type": "string"}, "query": {"type": "string"}, "limit": {"type": "integer"}});
        let schema = json!({"type": "object", "properties": properties, "required": ["path", "query", "limit"]});
        ToolSchema::new(&self.0, "Finds things.", schema)
    }

    async fn call(&self, _: &(), call: ToolCall) -> Result<ToolResult> {
        let input: Find = serde_json::from_value(call.arguments).expect("arguments that fit");
        let found = usize::try_from(input.limit)
            .unwrap_or(0)
            .min(input.path.len() + input.query.len());
        Ok(ToolResult::text(
            call.id,
            self.0.clone(),
            json!({"found": found}).to_string(),
        ))
    }
}

struct Nothing;

#[async_trait]
impl Middleware<()> for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }
}

#[derive(Default)]
struct Counter(AtomicUsize);

impl EventListener for Counter {
    fn on_event(&self, _: &EventRecord) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn arguments() -> Value {
    json!({"path": "crates/core/src", "query": "where is file_1 now", "limit": 5})
}

fn answer(tool_calls: Vec<ToolCall>) -> ModelResponse {
    let content = if tool_calls.is_empty() {
        vec![ContentBlock::Text("done".to_owned())]
    } else {
        Vec::new()
    };
    ModelResponse {
        message: AssistantMessage {
            id: None,
            content,
            tool_calls,
            usage: None,
        },
        usage: None,
        finish_reason: None,
        raw: None,
        resolved_model: None,
        continue_turn: None,
        served_from_cache: false,
    }
}

/// A harness whose model asks for so many calls in one turn and then is done.
fn harness(calls: usize, middleware: usize, tools: usize) -> AgentHarness<()> {
    let asked = (0..calls)
        .map(|index| ToolCall::new(format!("call-{index}"), "find_things", arguments()))
        .collect::<Vec<_>>();
    let mut answers = vec![answer(asked), answer(Vec::new())];
    if calls == 0 {
        // The same number of model calls, so that only the tool calls are left of the difference.
        answers = vec![
            answer(vec![ToolCall::new("call-0", "find_things", arguments())]),
            answer(Vec::new()),
        ];
    }
    let mut harness: AgentHarness<()> = AgentHarness::new();
    harness
        .register_model("scripted", Arc::new(ScriptedModel::new(answers)))
        .set_default_model("scripted");
    harness.register_tool(Arc::new(FindThings("find_things".to_owned())));
    for index in 1..tools {
        harness.register_tool(Arc::new(FindThings(format!("find_things_{index}"))));
    }
    for _ in 0..middleware {
        harness.push_middleware(Arc::new(Nothing));
    }
    let mut policy = RunPolicy::default();
    policy.limits.max_tool_calls = CALLS * 2;
    harness.with_policy(policy);
    harness
}

async fn once(calls: usize, middleware: usize, tools: usize) -> (f64, f64) {
    let harness = harness(calls, middleware, tools);
    let context = RunContext::new(RunConfig::new("run").with_max_tool_calls(CALLS * 2), ());
    context.events.subscribe(Arc::new(Counter::default()));
    let input = vec![Message::user("go")];
    let region = Region::new(&INSTRUMENTED_SYSTEM);
    let started = Instant::now();
    let run = harness
        .invoke_in_context(&(), context, input)
        .await
        .expect("a run");
    let took = started.elapsed().as_secs_f64() * 1e9;
    let change = region.change();
    assert_eq!(run.tool_calls, calls.max(1));
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let allocations = (change.allocations + change.reallocations) as f64;
    (took, allocations)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

async fn measure(middleware: usize, tools: usize) -> (f64, f64) {
    let (mut times, mut counts) = (Vec::new(), Vec::new());
    for index in 0..RUNS + 5 {
        let (many, many_allocations) = once(CALLS, middleware, tools).await;
        let (one, one_allocations) = once(0, middleware, tools).await;
        if index >= 5 {
            #[expect(clippy::cast_precision_loss, reason = "a small count")]
            let more = (CALLS - 1) as f64;
            times.push((many - one) / more);
            counts.push((many_allocations - one_allocations) / more);
        }
    }
    (median(times), median(counts))
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    for (case, middleware, tools) in [
        ("three middleware", 3, 1),
        ("no middleware", 0, 1),
        ("three middleware, 1000 tools", 3, 1000),
    ] {
        let (time, allocations) = runtime.block_on(measure(middleware, tools));
        println!(
            "{}",
            json!({"case": format!("TinyAgents 2.1.1, {case}"), "value": time, "unit": "ns"})
        );
        if cfg!(feature = "count") {
            println!(
                "{}",
                json!({"case": format!("TinyAgents 2.1.1, {case}, allocations of one call"), "value": allocations, "unit": "allocations"})
            );
        }
    }
}
