//! Whatever a host gives may panic, wherever it is asked: the call fails with a type and ends once, and its caller goes on.

use crate::support::{Events, Number, bare, call, code, echo, load};
use serde_json::{Map, Value, json};
use std::panic::panic_any;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness::builtin::Program;
use tool_harness::containment::Containment;
use tool_harness::effect::Effects;
use tool_harness::engine::Error;
use tool_harness::event::{Delivery, EventRef, Payloads, Sink};
use tool_harness::middleware::{
    Around, Decision, Judged, Later, Middleware, Next, Reply, Seen, Step, TurnView,
};
use tool_harness::outside::{Command, Outside, Pending, Ran, Request, Response};
use tool_harness::registry::OfferedTool;
use tool_harness::store::blob::{BlobError, BlobStore, BlobWriter, GcStats};
use tool_harness::tool::{Inject, RegisterError, blocking};
use tool_harness::{
    ArtifactRef, Engine, Tool, ToolError, ToolOutput, ToolRequest, ToolRuntime, ToolSpec,
};
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::tier::Tier;

/// Panics when it is dropped, also when it is what somebody panicked with.
struct Boom;

impl Drop for Boom {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("on purpose, while it is dropped");
        }
    }
}

/// A future that panics when it is dropped, done or not.
struct Ends {
    is_done: bool,
    _boom: Boom,
}

impl Future for Ends {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.is_done {
            Poll::Ready(Ok(ToolOutput::text("done")))
        } else {
            Poll::Pending
        }
    }
}

/// Whose future panics when it is dropped.
struct Dropped(&'static str, bool);

impl Tool for Dropped {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0, "Panics at its end.")
            .pure()
            .timeout(Duration::from_millis(30))
            .input(json!({"type": "object"}))
    }

    fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        Ends {
            is_done: self.1,
            _boom: Boom,
        }
    }
}

/// Panics with what panics when it is dropped.
struct Payload(&'static str);

impl Tool for Payload {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0, "Panics with a bomb.")
            .pure()
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        tokio::task::yield_now().await;
        panic_any(Boom)
    }
}

/// Makes a call that must fail with this code, and one that works.
async fn fails(engine: &Engine, events: &Events, tool: &str, expected: &str) {
    let before = events.ends().len();
    let result = engine.call(call(tool, json!({}))).await;
    assert_eq!(code(&result), expected, "{tool}: {}", result.text());
    assert_eq!(
        events.ends().len(),
        before + 1,
        "{tool}: {:?}",
        events.ends()
    );
}

#[tokio::test]
async fn a_future_or_a_panic_that_panics_when_it_is_dropped_fails_its_call_only() {
    let (engine, events) = load(
        bare()
            .tool(Dropped("ready", true))
            .tool(Dropped("late", false))
            .tool(Payload("payload")),
    )
    .await;
    fails(&engine, &events, "ready", "tool.failed").await;
    fails(&engine, &events, "late", "tool.timeout").await;
    fails(&engine, &events, "payload", "tool.failed").await;
    let cancelled = call("late", json!({}));
    let token = cancelled.cancel.clone();
    tokio::spawn(async move { token.cancel() });
    assert_eq!(code(&engine.call(cancelled).await), "tool.cancelled");
    let _ = tokio::time::timeout(
        Duration::from_millis(5),
        engine.call(call("late", json!({}))),
    )
    .await;
    assert_eq!(events.ends(), vec!["tool.failed"; 5]);
}

#[tokio::test]
async fn a_thread_that_panics_with_a_bomb_is_counted_only_while_it_is_there() {
    let spec = |name: &str| ToolSpec::new(name, "Panics with a bomb.").pure();
    let late = blocking(
        spec("late").timeout(Duration::from_millis(30)),
        |_: Number| -> Result<i64, ToolError> {
            std::thread::sleep(Duration::from_millis(200));
            panic_any(Boom)
        },
    );
    let soon = blocking(spec("soon"), |_: Number| -> Result<i64, ToolError> {
        panic_any(Boom)
    });
    let (engine, events) = load(bare().tool(late).tool(soon)).await;
    let result = engine.call(call("soon", json!({"n": 1}))).await;
    assert!(
        code(&result) == "tool.failed" && result.text().contains("panicked"),
        "{}",
        result.text()
    );
    assert_eq!(engine.abandoned_threads(), 0);
    assert_eq!(
        code(&engine.call(call("late", json!({"n": 1}))).await),
        "tool.timeout"
    );
    assert_eq!(engine.abandoned_threads(), 1);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!((engine.abandoned_threads(), events.ends().len()), (0, 2));
}

/// Takes what the host gives it.
struct Takes;

impl Tool for Takes {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("take", "Takes it.")
            .pure()
            .input(json!({"type": "object"}))
            .inject("user", Inject::Host("user".into()))
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

#[tokio::test]
async fn what_is_to_be_injected_may_panic() {
    let (engine, events) = load(bare().tool(Takes).inject("user", |_| panic_any(Boom))).await;
    fails(&engine, &events, "take", "internal").await;
    let message = engine.call(call("take", json!({}))).await.text();
    assert!(
        message.contains("`user`") && message.contains("panicked"),
        "{message}"
    );
}

/// Panics where it is told to.
struct Panics(&'static str);

impl Panics {
    fn at(&self, place: &str) {
        if self.0 == place {
            panic_any(Boom);
        }
    }
}

impl Middleware for Panics {
    fn name(&self) -> &str {
        self.at("name");
        "panics"
    }

    fn priority(&self) -> i64 {
        self.at("priority");
        1
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        self.at("before");
        match self.0 {
            "before later" => Step::later(async { panic_any(Boom) }),
            "before dropped" => Step::later(async {
                let _boom = Boom;
                std::future::pending().await
            }),
            _ => Decision::Allow.into(),
        }
    }

    fn after<'a>(&'a self, _: &'a Seen<'_>, _: &'a mut Reply<'_>) -> Step<'a, ()> {
        self.at("after");
        match self.0 {
            "after later" => Step::later(async { panic_any(Boom) }),
            _ => ().into(),
        }
    }

    fn offers(&self, _: &TurnView<'_>, tool: &OfferedTool) -> bool {
        if tool.name == "echo" {
            self.at("offers");
        }
        true
    }
}

impl Around for Panics {
    fn name(&self) -> &str {
        self.at("layer name");
        "panics"
    }

    fn around<'a>(
        &'a self,
        _: Seen<'a>,
        next: Next<'a>,
    ) -> Later<'a, Result<ToolOutput, ToolError>> {
        self.at("around");
        match self.0 {
            "around later" => Box::pin(async { panic_any(Boom) }),
            "around dropped" => Box::pin(async {
                let _boom = Boom;
                std::future::pending().await
            }),
            _ => Box::pin(next.finish()),
        }
    }
}

#[tokio::test]
async fn middleware_and_layers_may_panic_wherever_they_are_asked() {
    for (place, expected) in [
        ("nowhere", ""),
        ("before", "tool.hook.failed"),
        ("before later", "tool.hook.failed"),
        ("before dropped", "tool.timeout"),
        ("after", "tool.hook.failed"),
        ("after later", "tool.hook.failed"),
        ("around", "tool.hook.failed"),
        ("around later", "tool.hook.failed"),
        ("around dropped", "tool.timeout"),
    ] {
        let (engine, events) = load(
            bare()
                .tool(echo("echo"))
                .middleware(Panics(place))
                .around(Panics(place)),
        )
        .await;
        let mut call = call("echo", json!({"n": 1}));
        call.timeout = Some(Duration::from_millis(50));
        let result = engine.call(call).await;
        assert_eq!(
            (code(&result), events.ends().len()),
            (expected, 1),
            "{place}: {}",
            result.text()
        );
    }
}

#[tokio::test]
async fn a_tool_whose_offer_panics_is_not_offered_and_it_is_said() {
    let (engine, events) = load(
        bare()
            .tool(echo("echo"))
            .tool(echo("other"))
            .middleware(Panics("offers")),
    )
    .await;
    let run = engine.start(());
    let turn = run.turn().expect("a turn");
    let names: Vec<&str> = turn
        .surface()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert!(
        !names.contains(&"echo") && names.contains(&"other"),
        "{names:?}"
    );
    let results = turn
        .call(vec![
            ToolRequest::new("c1", "echo", json!({"n": 1})),
            ToolRequest::new("c2", "other", json!({"n": 1})),
        ])
        .await
        .results;
    assert_eq!(
        (code(&results[0]), code(&results[1])),
        ("tool.not_advertised", "")
    );
    let said = events.named("hook.decided");
    assert_eq!(
        (
            said.len(),
            &said[0].fields["hook"],
            &said[0].fields["action"]
        ),
        (1, &json!("panics"), &json!("failed"))
    );
    let child = run.child((), |tool| {
        if tool.name == "other" {
            panic_any(Boom)
        } else {
            true
        }
    });
    assert!(
        child
            .turn()
            .expect("a turn")
            .surface()
            .tools
            .iter()
            .all(|tool| tool.name != "other")
    );
}

/// A tool that cannot say what it is.
struct Speechless;

impl Tool for Speechless {
    fn spec(&self) -> ToolSpec {
        panic_any(Boom)
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::default())
    }
}

#[tokio::test]
async fn what_panics_when_it_is_registered_is_a_typed_error() {
    for (builder, what) in [
        (bare().tool(Speechless), "`spec` of a tool"),
        (
            bare().tool(echo("echo")).middleware(Panics("name")),
            "`name` of a middleware",
        ),
        (
            bare().tool(echo("echo")).middleware(Panics("priority")),
            "`priority` of a middleware",
        ),
        (
            bare().tool(echo("echo")).around(Panics("layer name")),
            "`name` of a layer",
        ),
    ] {
        match builder.load().await {
            Err(Error::Register(RegisterError::Panicked(said))) => assert_eq!(said, what),
            other => panic!("{what}: {other:?}"),
        }
    }
}

/// An outside that panics wherever it is asked.
struct Nowhere;

impl Outside for Nowhere {
    fn tier(&self) -> Tier {
        panic_any(Boom)
    }

    fn run<'a>(
        &'a self,
        _: &'a Plan,
        _: Containment,
        _: Command,
        _: CancellationToken,
    ) -> Pending<'a, Ran> {
        panic_any(Boom)
    }

    fn send<'a>(
        &'a self,
        _: &'a Domains,
        _: Request,
        _: Duration,
        _: CancellationToken,
    ) -> Pending<'a, Response> {
        Box::pin(async { panic_any(Boom) })
    }
}

/// Runs a program.
struct Runs;

impl Tool for Runs {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("run_it", "Runs it.")
            .effects(Effects::READ | Effects::WRITE | Effects::EXEC)
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        runtime
            .run(Program::new("true"))
            .await
            .map(|_| ToolOutput::default())
    }
}

#[tokio::test]
async fn the_outside_may_panic_wherever_it_is_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let (engine, events) = load(
        bare()
            .tool(Runs)
            .workspace(folder.path())
            .outside(Arc::new(Nowhere)),
    )
    .await;
    let result = engine.call(call("run_it", json!({}))).await;
    assert!(
        ["tool.failed", "tool.denied", "tool.approval.denied"].contains(&code(&result)),
        "{}",
        result.text()
    );
    let _ = engine.explain(call("run_it", json!({}))).await;
    assert_eq!(events.ends().len(), 1);
}

/// A sink that panics wherever it is asked.
struct Deaf(Arc<AtomicBool>);

impl Sink for Deaf {
    fn record(&self, _: &EventRef<'_>) {
        self.0.store(true, Ordering::SeqCst);
        panic_any(Boom)
    }

    fn delivery(&self) -> Delivery {
        panic_any(Boom)
    }

    fn payloads(&self) -> Payloads {
        panic_any(Boom)
    }
}

/// A store that panics wherever it is asked; what two of them begin panics when it is written to, or when it is let go.
#[derive(Clone, Copy, PartialEq)]
enum Spoilt {
    Begun,
    Written,
    LetGo,
}

struct Spoils(Spoilt);

impl BlobWriter for Spoils {
    fn write(&mut self, _: &[u8]) -> Result<(), BlobError> {
        if self.0 == Spoilt::Written {
            panic_any(Boom)
        } else {
            Err(BlobError::Failed("full".into()))
        }
    }

    fn finish(self: Box<Self>) -> Result<ArtifactRef, BlobError> {
        panic_any(Boom)
    }
}

impl Drop for Spoils {
    fn drop(&mut self) {
        if self.0 == Spoilt::LetGo {
            panic_any(Boom)
        }
    }
}

impl BlobStore for Spoilt {
    fn begin(&self, _: &str, _: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        if *self == Self::Begun {
            panic_any(Boom)
        } else {
            Ok(Box::new(Spoils(*self)))
        }
    }

    fn find(&self, _: &str, _: &str) -> Result<ArtifactRef, BlobError> {
        panic_any(Boom)
    }

    fn read(&self, _: &str, _: &str, _: u64, _: u64) -> Result<Vec<u8>, BlobError> {
        panic_any(Boom)
    }

    fn list(&self, _: &str) -> Result<Vec<ArtifactRef>, BlobError> {
        panic_any(Boom)
    }

    fn collect(&self) -> Result<GcStats, BlobError> {
        panic_any(Boom)
    }

    fn file(&self, _: &ArtifactRef) -> Option<PathBuf> {
        panic_any(Boom)
    }
}

/// Gives more than a model reads, or keeps it.
struct Long(&'static str);

impl Tool for Long {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(self.0, "Gives a lot.")
            .pure()
            .input(json!({"type": "object"}))
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        _: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        match self.0 {
            "keep" => drop(runtime.keep("a".repeat(9), "text/plain").await?),
            _ => return Ok(ToolOutput::text("a".repeat(100_000))),
        }
        Ok(ToolOutput::default())
    }
}

#[tokio::test]
async fn sinks_and_stores_may_panic_wherever_they_are_asked() {
    let heard = Arc::new(AtomicBool::new(false));
    let builder = bare()
        .tool(Long("give"))
        .tool(Long("keep"))
        .blobs_in(Arc::new(Spoilt::Begun))
        .sink(Arc::new(Deaf(Arc::clone(&heard))));
    let (engine, events) = load(builder).await;
    let result = engine.call(call("give", json!({}))).await;
    assert!(
        !result.is_error && result.text().starts_with("aaa"),
        "a store that fails loses what it should keep, and no more"
    );
    fails(&engine, &events, "keep", "store.failed").await;
    let reading = engine
        .call(call(
            "read_artifact",
            json!({"id": format!("art_{}", "0".repeat(32))}),
        ))
        .await;
    assert_eq!(code(&reading), "tool.failed", "{}", reading.text());
    engine.flush(Duration::from_secs(5)).await;
    assert!(heard.load(Ordering::SeqCst) && engine.missed_events() > 0);
    assert_eq!(events.ends().len(), 3);
}

#[tokio::test]
async fn a_host_that_uses_the_blobs_itself_gets_a_failure_and_no_panic() {
    let failed = || BlobError::Failed("the store crashed".into());
    for store in [Spoilt::Begun, Spoilt::Written, Spoilt::LetGo] {
        let (engine, _) = load(bare().blobs_in(Arc::new(store))).await;
        let blobs = engine.blobs("mine");
        assert_eq!(blobs.write(b"something", "text/plain"), Err(failed()));
        assert_eq!(blobs.find("art_0"), Err(failed()));
        assert_eq!(blobs.read("art_0", 0, 1), Err(failed()));
        assert_eq!(blobs.list(), Err(failed()));
        let artifact = ArtifactRef {
            id: "art_0".into(),
            media_type: String::new(),
            bytes: 0,
            digest: String::new(),
        };
        assert_eq!(engine.blob_file(&artifact), None);
    }
    let (engine, _) = load(bare()).await;
    let kept = engine
        .blobs("mine")
        .write(b"something", "text/plain")
        .expect("kept");
    assert_eq!(
        engine.blobs("mine").read(&kept.id, 0, 4),
        Ok(b"some".to_vec())
    );
}
