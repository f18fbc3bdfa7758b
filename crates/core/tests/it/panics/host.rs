//! Code of the host panics.

use super::{Boom, Panics, fails};
use crate::support::{bare, call, code, echo, load};
use serde_json::{Map, Value, json};
use std::panic::panic_any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool_harness::Effects;
use tool_harness::builtin::Program;
use tool_harness::containment::Containment;
use tool_harness::engine::Error;
use tool_harness::event::{Delivery, EventRef, Payloads, Sink};
use tool_harness::outside::{Command, Outside, Pending, Ran, Request, Response};
use tool_harness::store::blob::{BlobError, BlobStore, BlobWriter, GcStats};
use tool_harness::tool::RegisterError;
use tool_harness::{ArtifactRef, Tool, ToolError, ToolOutput, ToolRuntime, ToolSpec};
use tool_harness_sandbox::network::Domains;
use tool_harness_sandbox::plan::Plan;
use tool_harness_sandbox::tier::Tier;

/// A tool whose `spec` panics.
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
async fn a_panic_during_registration_is_a_typed_error() {
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

/// An outside that panics in every method.
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
async fn the_outside_may_panic_in_any_method() {
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

/// A sink that panics in every method.
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

/// A store that panics in every method; two variants panic on write, or on drop.
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

/// Returns an oversized text, or stores it.
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
async fn sinks_and_stores_may_panic_in_any_method() {
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
        "a failing store loses only the artifact"
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
async fn a_host_that_uses_a_panicking_blob_store_gets_an_error() {
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
