//! An engine without a project, and its events.

use serde_json::Value;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tool_harness::event::{Delivery, Event, EventRef, Payloads, Sink};
use tool_harness::schema;
use tool_harness::tool::{Function, function};
use tool_harness::{Arguments, Call, Engine, EngineBuilder, ToolError, ToolResult, ToolSpec};

/// Collects every event, optionally with arguments and results.
pub(crate) struct Events(Mutex<Vec<Event>>, Payloads);

impl Default for Events {
    fn default() -> Self {
        Self(Mutex::default(), Payloads::LeftOut)
    }
}

impl Sink for Events {
    fn record(&self, event: &EventRef<'_>) {
        self.0.lock().expect("events").push(event.to_event());
    }

    fn delivery(&self) -> Delivery {
        Delivery::OnThePath
    }

    fn payloads(&self) -> Payloads {
        self.1
    }
}

impl Events {
    pub(crate) fn all(&self) -> Vec<Event> {
        self.0.lock().expect("events").clone()
    }

    pub(crate) fn named(&self, name: &str) -> Vec<Event> {
        self.all()
            .into_iter()
            .filter(|event| event.name() == name)
            .collect()
    }

    /// The events that end a call, by name.
    pub(crate) fn ends(&self) -> Vec<String> {
        let ends = ["tool.completed", "tool.failed", "tool.rejected"];
        self.all()
            .into_iter()
            .map(|event| event.name().to_owned())
            .filter(|name| ends.contains(&name.as_str()))
            .collect()
    }
}

/// An engine with these tools, and its events.
pub(crate) async fn load<State, Ctx>(
    builder: EngineBuilder<State, Ctx>,
) -> (Engine<Ctx>, Arc<Events>) {
    loaded(builder, Arc::default()).await
}

/// The same with arguments and results in the events.
pub(crate) async fn load_asking<State, Ctx>(
    builder: EngineBuilder<State, Ctx>,
) -> (Engine<Ctx>, Arc<Events>) {
    loaded(
        builder,
        Arc::new(Events(Mutex::default(), Payloads::Included)),
    )
    .await
}

async fn loaded<State, Ctx>(
    builder: EngineBuilder<State, Ctx>,
    events: Arc<Events>,
) -> (Engine<Ctx>, Arc<Events>) {
    let engine = builder
        .sink(Arc::clone(&events) as Arc<dyn Sink>)
        .load()
        .await
        .expect("an engine");
    (engine, events)
}

pub(crate) fn bare() -> EngineBuilder {
    EngineBuilder::without_project()
}

pub(crate) fn call(tool: &str, arguments: Value) -> Call {
    Call::new(tool, Arguments::Value(arguments))
}

pub(crate) fn text(tool: &str, arguments: &str) -> Call {
    Call::new(tool, Arguments::Text(arguments.to_owned()))
}

/// The arguments of the tools below.
#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Number {
    /// The number.
    pub(crate) n: i64,
}

/// A tool that returns its number.
pub(crate) fn echo(name: &str) -> impl tool_harness::Tool {
    numbered(
        ToolSpec::new(name, "Gives the number back.").pure(),
        |n| async move { Ok(n) },
    )
}

/// A tool that takes a number.
pub(crate) fn numbered<F, A>(spec: ToolSpec, run: F) -> Function<impl Fn(Number) -> A, Number, i64>
where
    F: Fn(i64) -> A + Send + Sync + 'static,
    A: Future<Output = Result<i64, ToolError>> + Send + 'static,
{
    function(spec, move |input: Number| run(input.n))
}

pub(crate) fn code(result: &ToolResult) -> &'static str {
    result.error.as_ref().map_or("", |error| error.code.text())
}

/// The schema of a number.
pub(crate) fn number_schema() -> Value {
    use schema::Schema;
    schema::of::<Number>().schema()
}

/// How long anything may take on a busy machine before it counts as hanging.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// Blocks threads until the test opens it, so that no test depends on timing.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Waits until the gate is open; `false` after a timeout.
    pub(crate) fn pass(&self) -> bool {
        let (is_open, changed) = &*self.0;
        let guard = is_open.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(guard, 2 * SOON, |is_open| !*is_open);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    pub(crate) fn open(&self) {
        self.set(true);
    }

    pub(crate) fn close(&self) {
        self.set(false);
    }

    fn set(&self, open: bool) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = open;
        self.0.1.notify_all();
    }
}

/// Waits until something holds; fails if it never does.
#[track_caller]
pub(crate) fn until(holds: impl Fn() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < SOON, "{caller}: it never happened");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
