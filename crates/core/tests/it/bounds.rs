//! Oversized parts of a result are stored, and the result itself stays short.

use crate::support::{Gate, SOON, bare, call, code, load, number_schema};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tool_harness::Control;
use tool_harness::content::{Link, Media, Resource, ResourceBody};
use tool_harness::middleware::{Decision, Judged, Middleware, Step};
use tool_harness::store::blob::{BlobError, BlobStore, BlobWriter, GcStats, MemoryBlobs};
use tool_harness::{
    ArtifactRef, ContentBlock, Engine, Tool, ToolError, ToolMessage, ToolOutput, ToolResult,
    ToolRuntime, ToolSpec,
};
use tool_harness::{Code, Refusal};

/// Returns something oversized; its number selects what.
struct Long;

const MOST: usize = 16_384;
const MANY: usize = 100_000;
const SESSION: &str = "one";

impl Tool for Long {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("say_much", "Says much.")
            .pure()
            .input(number_schema())
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let long = || "word ".repeat(MANY / 5);
        let link = |uri: String, description: String| {
            ContentBlock::Link(Link {
                uri,
                name: "a".into(),
                description: Some(description),
                media_type: None,
            })
        };
        let resource = |body| {
            ContentBlock::Resource(Resource {
                uri: "file:///a".into(),
                media_type: None,
                body,
            })
        };
        let image = |bytes: usize| {
            ContentBlock::Image(Media {
                data: vec![7; bytes],
                media_type: "image/png".into(),
            })
        };
        let map = || Map::from_iter([("long".to_owned(), Value::from(long()))]);
        Ok(match arguments["n"].as_u64() {
            Some(0) => ToolOutput::content(vec![resource(ResourceBody::Text(long()))]),
            Some(1) => ToolOutput::content(vec![link("file:///a".into(), long())]),
            Some(2) => ToolOutput::content(vec![
                link(long(), String::new()),
                ContentBlock::text("after"),
            ]),
            Some(3) => ToolOutput::content(vec![ContentBlock::text(""); MANY]),
            Some(4) => ToolOutput::content(vec![image(0); MANY]),
            Some(5) => ToolOutput {
                value: Some(json!("v".repeat(10_000))),
                ..ToolOutput::text("t".repeat(10_000))
            },
            Some(6) => ToolOutput {
                value: Some(json!({"exit_code": 3})),
                ..ToolOutput::text(long())
            },
            Some(7) => ToolOutput::content(vec![image(12 << 20), image(12 << 20)]),
            Some(8) => ToolOutput {
                metadata: map(),
                ..ToolOutput::text("short")
            },
            Some(9) => ToolOutput {
                provider: map(),
                refs: vec![json!(long())],
                ..ToolOutput::text("short")
            },
            Some(20) => ToolOutput {
                artifacts: vec![forged("CANARY"); 20_000],
                metadata: Map::from_iter([("redacted".into(), json!({"all": "CANARY"}))]),
                ..ToolOutput::text("short")
            },
            Some(21) => ToolOutput {
                artifacts: vec![runtime.keep("x", &long()).await?],
                ..ToolOutput::text("short")
            },
            Some(22) => return Err(ToolError::control(Control::Stop(long()))),
            Some(10) => return Err(ToolError::fatal("much", "no").detail("long", long())),
            _ => ToolOutput {
                value: Some(json!({"a": "v".repeat(10_000)})),
                ..ToolOutput::text(json!({"a": "v".repeat(10_000)}).to_string())
            },
        })
    }
}

fn forged(id: &str) -> ArtifactRef {
    ArtifactRef {
        id: id.into(),
        media_type: id.into(),
        bytes: 1,
        digest: id.into(),
    }
}

/// Asks for approval with a long reason.
struct Asks;

impl Middleware for Asks {
    fn name(&self) -> &str {
        "asks"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        Step::Now(Decision::Ask("word ".repeat(MANY)))
    }
}

async fn said(engine: &Engine, n: u32) -> ToolResult {
    let mut made = call("say_much", json!({"n": n}));
    made.session_id = SESSION.into();
    let result = engine.call(made).await;
    // Images do not count as text.
    let media = |block: &ContentBlock| matches!(block, ContentBlock::Image(media) if !media.data.is_empty());
    let message = ToolMessage::from(result.clone());
    let content: Vec<Value> = message
        .content
        .iter()
        .filter(|block| !media(block))
        .map(ContentBlock::to_json)
        .collect();
    // Field names count in JSON, most of all for an empty block.
    assert!(
        json!(content).to_string().len() < 5 * MOST,
        "{n}: {} bytes",
        json!(content).to_string().len()
    );
    let texts: usize = message
        .content
        .iter()
        .filter_map(ContentBlock::as_text)
        .map(str::len)
        .sum();
    assert!(texts <= MOST, "{n}: {texts} bytes of text");
    assert!(json!(message.about).to_string().len() < 200_000, "{n}");
    result
}

#[tokio::test]
async fn every_oversized_part_of_a_result_is_stored_and_shortened() {
    let (engine, _) = load(bare().tool(Long)).await;
    for n in 0..=4 {
        let result = said(&engine, n).await;
        let truncated = &result.metadata["truncated"];
        if n < 4 {
            assert_eq!(
                truncated["artifact"],
                result.artifacts[0].id.as_str(),
                "{n}"
            );
            let kept = engine
                .blobs(SESSION)
                .read(&result.artifacts[0].id, 0, 1 << 20)
                .expect("kept");
            assert!(kept.len() >= MANY - 1, "{n}: {} bytes are kept", kept.len());
        }
        let left = result.content.len();
        assert!(
            left > 0 && (n < 3 || truncated["left_out_blocks"] == MANY - left),
            "{n}: {truncated}"
        );
    }
    let both = said(&engine, 5).await;
    assert_eq!(
        (both.value.as_ref(), both.text().len(), both.artifacts.len()),
        (None, 10_000, 1),
        "the tool's own text stays"
    );
    let short = said(&engine, 6).await;
    assert_eq!(
        short.value,
        Some(json!({"exit_code": 3})),
        "a short value is always shown"
    );
    let pictures = said(&engine, 7).await;
    let linked = format!("artifact:///{}", pictures.artifacts[0].id);
    assert!(
        matches!(&pictures.content[..], [ContentBlock::Image(_), ContentBlock::Link(link)] if link.uri == linked),
        "{pictures:?}"
    );
    for n in [8, 9, 10] {
        let result = said(&engine, n).await;
        let text = result.to_json().to_string();
        assert!(
            text.len() < 2000 && text.contains("left_out") && !result.artifacts.is_empty(),
            "{n}: {text:.300}"
        );
    }
    let told = said(&engine, 11).await;
    assert!(
        told.value.is_some() && told.artifacts.is_empty(),
        "what is said twice is read once: {:?}",
        told.metadata
    );
}

#[tokio::test]
async fn made_up_handles_messages_and_names_are_bounded_and_leak_nothing() {
    let (engine, events) = load(bare().tool(Long)).await;
    let made_up = said(&engine, 20).await;
    let all = format!("{made_up:?}{:?}", events.all());
    assert!(
        made_up.artifacts.is_empty() && !all.contains("CANARY"),
        "{all:.300}"
    );
    let kept = said(&engine, 21).await;
    assert_eq!(kept.artifacts[0].media_type, "application/octet-stream");
    let stopped = said(&engine, 22).await;
    assert!(
        format!("{stopped:?}").len() < 5 * MOST,
        "{} bytes",
        format!("{stopped:?}").len()
    );
    let unknown = engine.call(call(&"x".repeat(800_000), json!({}))).await;
    assert!(
        format!("{unknown:?}{:?}", events.all()).len() < 20 * MOST
            && unknown.name.as_str().len() <= 256
    );
    let (engine, _) = load(bare().middleware(Asks).tool(Long)).await;
    let asked = engine.call(call("say_much", json!({"n": 0}))).await;
    assert!(
        asked.is_error && asked.to_json().to_string().len() < 5 * MOST,
        "{} bytes",
        asked.to_json().to_string().len()
    );
}

/// Stores artifacts until the store refuses.
struct Keeps;

impl Tool for Keeps {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("keep_many", "Keeps many things.")
            .pure()
            .input(number_schema())
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let mut last = None;
        for n in 0..arguments["n"].as_u64().unwrap_or(0) {
            last = Some(runtime.keep(n.to_string(), "text/plain").await?);
        }
        Ok(ToolOutput {
            artifacts: last.into_iter().collect(),
            ..ToolOutput::default()
        })
    }
}

/// Lists made-up handles.
struct Lists;

impl Tool for Lists {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("list_many", "Lists many things.")
            .pure()
            .input(number_schema())
    }

    async fn call(
        &self,
        (): &(),
        _: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let handle = |n: u64| ArtifactRef {
            id: format!("art_{n:032x}"),
            media_type: "text/plain".into(),
            bytes: 1,
            digest: format!("blake3:{}", "0".repeat(64)),
        };
        Ok(ToolOutput {
            artifacts: (0..arguments["n"].as_u64().unwrap_or(0))
                .map(handle)
                .collect(),
            ..ToolOutput::text("x")
        })
    }
}

#[tokio::test]
async fn a_call_can_store_a_thousand_artifacts_and_one_more_fails() {
    let (engine, _) = load(bare().tool(Keeps).tool(Lists)).await;
    for (tool, many, expected, listed) in [
        ("keep_many", 1000, "", 1000),
        ("keep_many", 1001, "tool.limit", 1000),
        ("list_many", 1000, "", 1000),
        ("list_many", 1001, "tool.output.invalid_schema", 0),
    ] {
        let result = engine.call(call(tool, json!({"n": many}))).await;
        assert_eq!(
            (code(&result), result.artifacts.len()),
            (expected, listed),
            "{tool} {many}: {}",
            result.text()
        );
    }
}

/// A slow store.
struct Slow(MemoryBlobs, Gate);

impl BlobStore for Slow {
    fn begin(&self, session: &str, media_type: &str) -> Result<Box<dyn BlobWriter>, BlobError> {
        self.1.pass();
        self.0.begin(session, media_type)
    }

    fn find(&self, session: &str, id: &str) -> Result<ArtifactRef, BlobError> {
        self.0.find(session, id)
    }

    fn read(
        &self,
        session: &str,
        id: &str,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, BlobError> {
        self.0.read(session, id, offset, length)
    }

    fn list(&self, session: &str) -> Result<Vec<ArtifactRef>, BlobError> {
        self.0.list(session)
    }

    fn collect(&self) -> Result<GcStats, BlobError> {
        self.0.collect()
    }
}

#[tokio::test]
async fn a_slow_store_delays_a_call_no_longer_than_its_deadline() {
    let gate = Gate::default();
    let (engine, _) = load(
        bare()
            .blobs_in(Arc::new(Slow(MemoryBlobs::default(), gate.clone())))
            .tool(Long),
    )
    .await;
    for is_cancelled in [false, true] {
        let mut made = call("say_much", json!({"n": 6}));
        let cancel = made.cancel.clone();
        if is_cancelled {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                cancel.cancel();
            });
        } else {
            made.timeout = Some(Duration::from_millis(200));
        }
        let started = Instant::now();
        let result = engine.call(made).await;
        assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
        assert!(
            result.artifacts.is_empty() && result.text().contains("bytes left out"),
            "{result:?}"
        );
    }
    gate.open();
}

/// Emits oversized events, or fails with oversized help.
struct Loud;

impl Tool for Loud {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("tell_much", "Tells much.")
            .pure()
            .input(number_schema())
    }

    async fn call(
        &self,
        (): &(),
        runtime: ToolRuntime<'_>,
        arguments: Map<String, Value>,
    ) -> Result<ToolOutput, ToolError> {
        let long = || "word ".repeat(MANY);
        if arguments["n"] == 1 {
            return Err(Refusal::new(Code::SandboxDenied, "no").help(long()).into());
        }
        runtime.progress(0.5, &long());
        runtime.progress(0.6, "half of it");
        runtime.emit("much", &json!({"all": long()}));
        runtime.emit("little", &json!({"all": "words"}));
        runtime.emit(&long(), &json!({}));
        Ok(ToolOutput::text("done"))
    }
}

/// Refuses with a long reason.
struct Refuses;

impl Middleware for Refuses {
    fn name(&self) -> &str {
        "refuses"
    }

    fn before<'a>(&'a self, _: &'a mut Judged<'_>) -> Step<'a, Decision> {
        Step::Now(Decision::Refuse("word ".repeat(MANY)))
    }
}

#[tokio::test]
async fn events_and_help_from_tools_and_middleware_are_bounded() {
    const MOST_TOLD: usize = 70_000;
    let (engine, events) = load(bare().tool(Loud)).await;
    assert_eq!(
        engine.call(call("tell_much", json!({"n": 0}))).await.text(),
        "done"
    );
    for event in events.all() {
        assert!(
            event.name().len() <= 256 && json!(event.fields()).to_string().len() < MOST_TOLD,
            "{:.80}",
            event.name()
        );
    }
    let progress = events.named("tool.progress");
    assert!(
        progress[0].fields()["message"]
            .as_str()
            .is_some_and(|said| said.contains("bytes left out"))
    );
    assert_eq!(progress[1].fields()["message"], "half of it");
    assert_eq!(
        events.named("custom.much")[0].fields()["payload"]["left_out"]["bytes"],
        json!({"all": "word ".repeat(MANY)}).to_string().len()
    );
    assert_eq!(
        events.named("custom.little")[0].fields()["payload"],
        json!({"all": "words"})
    );
    let helped = engine.call(call("tell_much", json!({"n": 1}))).await;
    assert_eq!(code(&helped), "sandbox.denied");
    assert!(
        helped.to_json().to_string().len() < 3 * MOST,
        "{} bytes",
        helped.to_json().to_string().len()
    );
    let (engine, events) = load(bare().middleware(Refuses).tool(Loud)).await;
    assert_eq!(
        code(&engine.call(call("tell_much", json!({"n": 0}))).await),
        "tool.hook.blocked"
    );
    assert!(
        json!(events.named("hook.decided")[0].fields())
            .to_string()
            .len()
            < MOST_TOLD
    );
}
