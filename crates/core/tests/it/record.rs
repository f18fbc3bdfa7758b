//! The record: it has the events of every call before anything depends on them, and a call with
//! effects does not run without it.

use crate::support::{call, code, load};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool_harness::effect::Effects;
use tool_harness::event::Event;
use tool_harness::store::{Head, MemoryRecord, Record, StoreError};
use tool_harness::{EngineBuilder, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};

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
async fn the_record_has_the_events_of_a_call_in_their_order() {
    let (ran, record) = (Arc::default(), Arc::new(MemoryRecord::new(100)));
    let (engine, _) = load(tools(&ran).record(Arc::clone(&record) as Arc<dyn Record>)).await;
    assert!(!engine.call(call("write_note", json!({}))).await.is_error);
    assert!(engine.call(call("nothing", json!({}))).await.is_error);
    let names: Vec<String> = record
        .events()
        .into_iter()
        .map(|event| event.name)
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
