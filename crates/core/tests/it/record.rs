//! The record: it has the events of every call before anything depends on them, and a call with
//! effects does not run without it.

use crate::support::{call, code, load};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool_harness::Effects;
use tool_harness::event::Event;
use tool_harness::store::{Head, MemoryRecord, Record, StoreError};
use tool_harness::{
    EngineBuilder, Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec,
};

/// Counts how often it runs.
struct Counted {
    spec: ToolSpec,
    ran: Arc<AtomicUsize>,
}

impl Tool for Counted {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        self.ran.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutput::value(Value::Object(arguments)))
    }
}

fn tools(ran: &Arc<AtomicUsize>) -> EngineBuilder {
    let schema = json!({"type": "object"});
    let spec = |name: &str| ToolSpec::new(name, "A tool.").input(schema.clone());
    let tool = |spec: ToolSpec| Counted {
        spec,
        ran: Arc::clone(ran),
    };
    EngineBuilder::without_project()
        .tool(tool(spec("think").pure()))
        .tool(tool(
            spec("write_note").effects(Effects::READ | Effects::WRITE),
        ))
}

#[tokio::test]
async fn the_record_has_the_events_of_a_call_in_order() {
    let (ran, record) = (Arc::default(), Arc::new(MemoryRecord::new(100)));
    let (engine, _) = load(tools(&ran).record(Arc::clone(&record) as Arc<dyn Record>)).await;
    assert!(!engine.call(call("write_note", json!({}))).await.is_error);
    assert!(engine.call(call("nothing", json!({}))).await.is_error);
    let names: Vec<String> = record
        .events()
        .into_iter()
        .map(|event| event.name().to_owned())
        .collect();
    assert_eq!(names, ["tool.started", "tool.completed", "tool.rejected"]);
}

#[tokio::test]
async fn a_call_with_effects_does_not_run_without_its_record() {
    struct Broken;
    impl Record for Broken {
        fn append(&self, _: &Event) -> Result<Head, StoreError> {
            Err(StoreError("the disk is full".to_owned()))
        }
    }
    struct Panicking;
    impl Record for Panicking {
        fn append(&self, _: &Event) -> Result<Head, StoreError> {
            panic!("on purpose")
        }
    }
    let full: Arc<dyn Record> = Arc::new(MemoryRecord::new(0));
    for (record, why) in [
        (Arc::new(Broken) as Arc<dyn Record>, "the disk is full"),
        (Arc::new(Panicking), "the record panicked"),
        (full, "the record is full"),
    ] {
        let ran: Arc<AtomicUsize> = Arc::default();
        let (engine, _) = load(tools(&ran).record(record)).await;
        let refused = engine.call(call("write_note", json!({}))).await;
        assert_eq!(code(&refused), "store.failed");
        assert!(refused.text().contains(why), "{}", refused.text());
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        assert!(!engine.call(call("think", json!({}))).await.is_error);
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    }
}

/// Calls `write_note` from within its own call.
struct Outer(ToolSpec);

impl Tool for Outer {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let inner = runtime.call("write_note", json!({})).await;
        Ok(ToolOutput::value(inner.is_error))
    }
}

#[tokio::test]
async fn an_event_says_which_run_and_turn_it_belongs_to_and_events_of_a_session_are_numbered() {
    let (ran, record) = (Arc::default(), Arc::new(MemoryRecord::new(100)));
    let outer = ToolSpec::new("call_inside", "Calls another tool.").effects(Effects::READ);
    let engine = tools(&ran).tool(Outer(outer.input(json!({"type": "object"}))));
    let (engine, _) = load(engine.record(Arc::clone(&record) as Arc<dyn Record>)).await;

    let (run, made) = (engine.start(()), AtomicUsize::new(0));
    let fresh = || format!("call {}", made.fetch_add(1, Ordering::SeqCst));
    for _ in 0..2 {
        let turn = run.turn().expect("a turn");
        let tools = ["think", "write_note"];
        let requests = tools.map(|tool| ToolRequest::new(fresh(), tool, json!({})));
        turn.call(requests.into()).await;
    }
    let outside = call("call_inside", json!({}));
    let outermost = outside.id.to_string();
    assert!(!engine.call(outside).await.is_error);

    let events = record.events();
    let (in_run, outside): (Vec<_>, Vec<_>) =
        events.iter().partition(|event| event.run_id == run.id());
    let count = |turn: &str| in_run.iter().filter(|event| event.turn_id == turn).count();
    let [first, second] = [1, 2].map(|number| format!("{}/{number}", run.id()));
    assert_eq!((count(&first), count(&second), in_run.len()), (4, 4, 8));
    let mut numbers: Vec<u64> = in_run.iter().map(|event| event.sequence).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=8).collect::<Vec<u64>>());

    // A call outside any turn is a turn of its own, with the calls inside it.
    assert_eq!(outside.len(), 4);
    assert!(outside.iter().all(|event| event.turn_id == outermost));
    let json = outside[0].to_json();
    assert_eq!(
        (&json["event"], &json["sequence"], &json["turn_id"]),
        (&json!("tool.started"), &json!(9), &json!(outermost))
    );
}
