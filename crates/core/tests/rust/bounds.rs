//! Whatever a result has too much of is kept, and what is left is short.

use crate::support::{bare, call, load, number_schema};
use serde_json::{Map, Value, json};
use tool_harness::content::{Link, Media, Resource, ResourceBody};
use tool_harness::{ContentBlock, Engine, Tool, ToolError, ToolMessage, ToolOutput, ToolResult, ToolRuntime, ToolSpec};

/// Says too much in the way that its number tells.
struct Long;

const MOST: usize = 16_384;
const MANY: usize = 100_000;
const SESSION: &str = "one";

impl Tool for Long {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("say_much", "Says much.").pure().input(number_schema())
    }

    async fn call(&self, (): &(), _: ToolRuntime<'_>, arguments: Map<String, Value>) -> Result<ToolOutput, ToolError> {
        let long = || "word ".repeat(MANY / 5);
        let link = |uri: String, description: String| {
            ContentBlock::Link(Link { uri, name: "a".into(), description: Some(description), media_type: None })
        };
        let resource = |body| ContentBlock::Resource(Resource { uri: "file:///a".into(), media_type: None, body });
        let image = |bytes: usize| ContentBlock::Image(Media { data: vec![7; bytes], media_type: "image/png".into() });
        let map = || Map::from_iter([("long".to_owned(), Value::from(long()))]);
        Ok(match arguments["n"].as_u64() {
            Some(0) => ToolOutput::content(vec![resource(ResourceBody::Text(long()))]),
            Some(1) => ToolOutput::content(vec![link("file:///a".into(), long())]),
            Some(2) => ToolOutput::content(vec![link(long(), String::new()), ContentBlock::text("after")]),
            Some(3) => ToolOutput::content(vec![ContentBlock::text(""); MANY]),
            Some(4) => ToolOutput::content(vec![image(0); MANY]),
            Some(5) => ToolOutput { value: Some(json!("v".repeat(10_000))), ..ToolOutput::text("t".repeat(10_000)) },
            Some(6) => ToolOutput { value: Some(json!({"exit_code": 3})), ..ToolOutput::text(long()) },
            Some(7) => ToolOutput::content(vec![image(12 << 20), image(12 << 20)]),
            Some(8) => ToolOutput { metadata: map(), ..ToolOutput::text("short") },
            Some(9) => ToolOutput { provider: map(), refs: vec![json!(long())], ..ToolOutput::text("short") },
            Some(10) => return Err(ToolError::fatal("much", "no").detail("long", long())),
            _ => ToolOutput {
                value: Some(json!({"a": "v".repeat(10_000)})),
                ..ToolOutput::text(json!({"a": "v".repeat(10_000)}).to_string())
            },
        })
    }
}

async fn said(engine: &Engine, n: u32) -> ToolResult {
    let mut made = call("say_much", json!({"n": n}));
    made.session_id = SESSION.into();
    let result = engine.call(made).await;
    // Pictures are no text.
    let media = |block: &ContentBlock| matches!(block, ContentBlock::Image(media) if !media.data.is_empty());
    let message = ToolMessage::from(result.clone());
    let content: Vec<Value> = message.content.iter().filter(|block| !media(block)).map(ContentBlock::to_json).collect();
    // Names of fields take their part in JSON, a block of nothing most of all.
    assert!(json!(content).to_string().len() < 5 * MOST, "{n}: {} bytes", json!(content).to_string().len());
    let texts: usize = message.content.iter().filter_map(ContentBlock::as_text).map(str::len).sum();
    assert!(texts <= MOST, "{n}: {texts} bytes of text");
    assert!(json!(message.about).to_string().len() < 200_000, "{n}");
    result
}

#[tokio::test]
async fn whatever_there_is_too_much_of_is_kept_and_the_rest_is_short() {
    let (engine, _) = load(bare().tool(Long)).await;
    for n in 0..=4 {
        let result = said(&engine, n).await;
        let truncated = &result.metadata["truncated"];
        if n < 4 {
            assert_eq!(truncated["artifact"], result.artifacts[0].id.as_str(), "{n}");
            let kept = engine.shelf(SESSION).read(&result.artifacts[0].id, 0, 1 << 20).expect("kept");
            assert!(kept.len() >= MANY - 1, "{n}: {} bytes are kept", kept.len());
        }
        let left = result.content.len();
        assert!(left > 0 && (n < 3 || truncated["left_out_blocks"] == MANY - left), "{n}: {truncated}");
    }
    let both = said(&engine, 5).await;
    assert_eq!((both.value.as_ref(), both.text().len(), both.artifacts.len()), (None, 10_000, 1), "the tool's own words stay");
    let short = said(&engine, 6).await;
    assert_eq!(short.value, Some(json!({"exit_code": 3})), "a short value is told in any case");
    let pictures = said(&engine, 7).await;
    let linked = format!("artifact:///{}", pictures.artifacts[0].id);
    assert!(matches!(&pictures.content[..], [ContentBlock::Image(_), ContentBlock::Link(link)] if link.uri == linked), "{pictures:?}");
    for n in [8, 9, 10] {
        let result = said(&engine, n).await;
        let text = result.to_json().to_string();
        assert!(text.len() < 2000 && text.contains("left_out") && !result.artifacts.is_empty(), "{n}: {text:.300}");
    }
    let told = said(&engine, 11).await;
    assert!(told.value.is_some() && told.artifacts.is_empty(), "what is said twice is read once: {:?}", told.metadata);
}
